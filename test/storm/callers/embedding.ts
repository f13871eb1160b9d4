/** Embeddings: the same text twice, whose vectors must be the same. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { MadeCall } from "../history.ts";
import { idIn } from "./chat.ts";
import { create } from "./create.ts";
import type { Ground } from "./ground.ts";
import { attendAll } from "./plain.ts";

const PATH = "/vendora/embeddings";

const vector = z.object({ embedding: z.array(z.number()).min(1) });
const pair = z.object({ data: z.tuple([vector, vector]) });

export async function callEmbedding(ground: Ground, made: MadeCall): Promise<void> {
  const { mark, n } = made.call;
  const body = { model: ground.modelOf(made.call, "embeddings"), input: [mark, mark] };
  for (const { status, text } of await create(ground, made, { path: PATH, body, idIn })) {
    if (status !== 200) continue;
    const { data } = pair.safeParse(JSON.parse(text));
    if (!data || !isDeepStrictEqual(data.data[0], data.data[1]))
      ground.recorder.odd({ what: "two embeddings of one text", answer: text, n });
  }
  await attendAll(ground, made);
}
