/** One line of `turnstone doctor`; `detail` says what to do where it is not ok. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
}
