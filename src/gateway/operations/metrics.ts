import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** Counts of what happened, without names or text. */
export interface Metrics {
  count(what: string): void
  /** Asked for at each scrape. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  text(): Promise<string>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const events = new Counter({
    name: 'turnstone_events_total',
    help: 'What happened, by kind: turns by their end, model calls, tool calls, approvals asked.',
    labelNames: ['kind'],
    registers: [registry],
  })
  return {
    count: (kind) => events.inc({ kind }),
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          gauge.set(await read())
        },
      })
    },
    text: () => registry.metrics(),
  }
}
