import { chatMethods } from './chat.ts'
import { conversationMethods } from './conversations.ts'
import { fileMethods } from './files.ts'
import type { Methods } from './method.ts'
import { streamMethods } from './streams.ts'
import { viewMethods } from './views.ts'
import { workspaceMethods } from './workspace.ts'

export const METHODS: Methods = {
  ...chatMethods,
  ...streamMethods,
  ...conversationMethods,
  ...fileMethods,
  ...viewMethods,
  ...workspaceMethods,
}
