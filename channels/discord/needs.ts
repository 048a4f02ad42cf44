import { GatewayIntentBits, PermissionFlagsBits } from 'discord.js'

/** What the adapter really uses of Discord: nothing of it is for later. */
export const DISCORD_NEEDS = {
  intents: [
    { name: 'Guilds', bit: GatewayIntentBits.Guilds, privileged: false },
    { name: 'GuildMessages', bit: GatewayIntentBits.GuildMessages, privileged: false },
    { name: 'DirectMessages', bit: GatewayIntentBits.DirectMessages, privileged: false },
    { name: 'MessageContent', bit: GatewayIntentBits.MessageContent, privileged: true },
  ],
  permissions: [
    { name: 'View Channels', bit: PermissionFlagsBits.ViewChannel },
    { name: 'Send Messages', bit: PermissionFlagsBits.SendMessages },
    { name: 'Create Public Threads', bit: PermissionFlagsBits.CreatePublicThreads },
    { name: 'Send Messages in Threads', bit: PermissionFlagsBits.SendMessagesInThreads },
    { name: 'Attach Files', bit: PermissionFlagsBits.AttachFiles },
    { name: 'Read Message History', bit: PermissionFlagsBits.ReadMessageHistory },
    { name: 'Add Reactions', bit: PermissionFlagsBits.AddReactions },
  ],
  scopes: ['bot', 'applications.commands'],
} as const

/** All intents as one number, as IDENTIFY wants them. */
export function intentBits(): number {
  return DISCORD_NEEDS.intents.reduce((sum, { bit }) => sum | bit, 0)
}

/** Where an administrator of a server lets the bot in. */
export function inviteUrl(applicationId: string): string {
  const permissions = DISCORD_NEEDS.permissions.reduce((sum, { bit }) => sum | bit, 0n)
  const query = new URLSearchParams({
    client_id: applicationId,
    permissions: permissions.toString(),
    scope: DISCORD_NEEDS.scopes.join(' '),
  })
  return `https://discord.com/oauth2/authorize?${query}`
}
