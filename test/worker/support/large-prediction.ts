/** A prediction whose output is larger than a reader's buffers. */
import { newWorld } from "./world.ts";

/** The number of outputs exceeds what the reader's buffers hold. */
export const OUTPUTS = 40;

/** The text has two and three bytes a character, so that chunks end within one. */
export const piece = (n: number) => `${n}: é€`.padEnd(150_000, "é€");

export const outputs = Array.from({ length: OUTPUTS }, (_, n) => piece(n));

/** A prediction with 6 million characters of output. */
export async function large() {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  for (const output of outputs) await channel.output(output);
  await channel.report([], { status: "succeeded", output: "items" });
  return { ...world, id, path: `/v1/predictions/${id}` };
}
