/** A reader of streamed chat completions. It costs as little as possible, because the writer is measured. */
import { type Bed, USERNAME } from "./bed.ts";

/** A text in the event of a token, and one in the last event. */
const TOKEN = '"content":" token"';
const END = "data: [DONE]";

/** The service or container that answers below `url`. */
export interface Source {
  url: string;
  model: string;
  token?: string;
}

/** The input of the model `pace`. */
export interface Asked {
  max_tokens: number;
  per_second: number;
}

export interface Read {
  /** Time from the request to the first token, ms. */
  first: number;
  /** The system_fingerprint of the answer. */
  fingerprint: string | undefined;
}

/** Returns the service as a source of chat completions. */
export const chatOf = ({ deployment, seed }: Bed): Source => ({
  url: `${deployment.url}/v1/vendora`,
  model: `${USERNAME}/pace`,
  token: seed.token,
});

/** Returns the container behind a service, which can then be asked directly. */
export async function containerOf(service: Source): Promise<Source> {
  const { fingerprint } = await readChat(service, { max_tokens: 1, per_second: 0 });
  if (!fingerprint) throw new Error("the container has not said where it is");
  return { url: `${fingerprint}/v1`, model: "pace" };
}

/** Reads a stream to its end. @throws when it has fewer tokens than were asked for */
export async function readChat(source: Source, asked: Asked): Promise<Read> {
  const { url, model, token } = source;
  const began = performance.now();
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      model,
      stream: true,
      messages: [{ role: "user", content: "Go on" }],
      ...asked,
    }),
  });
  if (!response.ok || !response.body) throw new Error(await response.text());
  const chunks: Uint8Array[] = [];
  let text = "";
  let first: number | undefined;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    if (first !== undefined) continue;
    text += Buffer.from(chunk).toString();
    if (text.includes(TOKEN)) first = performance.now() - began;
  }
  const all = Buffer.concat(chunks).toString();
  const tokens = all.split(TOKEN).length - 1;
  if (first === undefined || tokens !== asked.max_tokens || !all.includes(END)) {
    throw new Error(`${tokens} of ${asked.max_tokens} tokens came: ${all.slice(-500)}`);
  }
  return { first, fingerprint: /"system_fingerprint":"([^"]+)"/.exec(all)?.[1] };
}
