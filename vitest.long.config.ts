import { defineConfig } from 'vitest/config'

/** What takes minutes: one file after the other, so that they do not measure each other. */
export default defineConfig({
  test: {
    include: ['test/long/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
  },
})
