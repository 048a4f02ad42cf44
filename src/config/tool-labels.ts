/** What calls are judged and granted by: every label and every name of a tool. */
export const TOOL_LABELS: readonly string[] = [
  'bash',
  'read_file',
  'write_file',
  'overwrite_file',
  'append_file',
  'edit_file',
  'diff_file',
  'search',
]
