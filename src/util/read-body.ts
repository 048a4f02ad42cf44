/** Reads a body whole, counting while it comes. Rejects with `tooLarge` as the message past `maxBytes`. */
export async function readBody(
  { body }: Request | Response,
  maxBytes: number,
  tooLarge: string,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new Error(tooLarge)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
