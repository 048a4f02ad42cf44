import { configDefaults, defineConfig } from 'vitest/config'

/** Measures stops of a few milliseconds: nothing else runs beside it. */
const ALONE = 'test/event-loop.test.ts'
/** Minutes long: npm run test:long. */
const LONG = 'test/long/**'

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'event loop', include: [ALONE], sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, LONG, ALONE],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
