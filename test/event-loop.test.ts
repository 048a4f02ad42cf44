import { expect, it } from 'vitest'
import { textRows } from './support/loop-rows-text.ts'
import { measure } from './support/loop-stops.ts'

it.each(textRows())('$name', async ({ name, make }) => {
  const stop = await measure(make)
  console.log(`${stop.ms.toFixed(1).padStart(9)} ms of ${stop.limit.toFixed(0)}  ${name}`)
  expect(stop.ms).toBeLessThanOrEqual(stop.limit)
})
