export type { Answer, CallSpec, Hold, HttpErrorSpec, UsageSpec } from './answer.ts'
export { Gate } from './gate.ts'
export { type ModelRequest, ModelSim, type ModelSimOptions, type Step, text } from './model-sim.ts'
export type { Violation } from './violation.ts'
