import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  type ClientOptions,
  DiscordAPIError,
  Events,
  GatewayIntentBits,
  type Interaction,
  type Message,
  Partials,
  type TextChannel,
} from 'discord.js'
import { afterEach, beforeEach, expect } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { DiscordSim, type SimChannel, type SimGuild, type SimUser } from './index.ts'

/** The setting of the simulator's own tests: a fresh Discord and clients of plain discord.js for each test. */
export const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.MessageContent,
]

export let clock: ManualClock
export let sim: DiscordSim
export let guild: SimGuild
export let channel: SimChannel
export let ann: SimUser
let clients: Client[]
let expectViolations = false

/** The test sends on purpose what the API description does not allow. */
export function allowViolations(): void {
  expectViolations = true
}

beforeEach(async () => {
  clock = new ManualClock()
  clients = []
  expectViolations = false
  sim = await DiscordSim.start({ clock })
  sim.rateLimits.enabled = false
  guild = sim.guild('acme')
  channel = sim.channel(guild, 'general')
  ann = sim.user('ann', guild)
})

afterEach(async () => {
  await Promise.all(clients.map((c) => c.destroy()))
  if (!expectViolations) expect(sim.specViolations).toEqual([])
  await sim.stop()
})

export function makeClient(options: Partial<ClientOptions> = {}): Client {
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel],
    ...options,
    rest: { api: sim.apiUrl, offset: 0, ...options.rest },
  })
  client.on('error', () => {})
  clients.push(client)
  return client
}

export async function login(options: Partial<ClientOptions> = {}): Promise<Client<true>> {
  const client = makeClient(options)
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve))
  await client.login(sim.token)
  return ready
}

export const textChannel = async (client: Client): Promise<TextChannel> =>
  (await client.channels.fetch(channel.id)) as TextChannel

export function nextMessage(client: Client): Promise<Message> {
  return new Promise((resolve) => client.once(Events.MessageCreate, resolve))
}

export function nextInteraction<T extends Interaction>(client: Client): Promise<T> {
  return new Promise((resolve) => client.once(Events.InteractionCreate, (i) => resolve(i as unknown as T)))
}

/** The API's code of a refused call. */
export async function code(call: Promise<unknown>): Promise<number | string> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  )
  if (error instanceof DiscordAPIError) return error.code
  throw new Error(`not refused by the API: ${error}`)
}

export const button = (id: string, label = 'Go'): ActionRowBuilder<ButtonBuilder> =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId(id).setLabel(label).setStyle(ButtonStyle.Primary),
  )

/** A body as JSON, past what builders check. */
export const post = (client: Client, body: object, where = channel.id): Promise<unknown> =>
  client.rest.post(`/channels/${where}/messages`, { body })
