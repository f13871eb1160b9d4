/** Reads a chat completion as it streams, as cheaply as can be: what is measured is who writes. */
import { type Bed, USERNAME } from "./bed.ts";

/** Whoever answers chat completions below `url`. */
export interface Source {
  url: string;
  model: string;
  token?: string;
}

/** As the model `pace` takes it. */
export interface Asked {
  max_tokens: number;
  per_second: number;
}

export interface Read {
  /** From the request to the first token, ms. */
  first: number;
  /** The system_fingerprint of the answer. */
  fingerprint: string | undefined;
}

/** The service itself. */
export const chatOf = ({ deployment, seed }: Bed): Source => ({
  url: `${deployment.url}/v1/vendora`,
  model: `${USERNAME}/pace`,
  token: seed.token,
});

/** The container that answers there, to be asked without anything in between. */
export async function containerOf(service: Source): Promise<Source> {
  const { fingerprint } = await readChat(service, { max_tokens: 1, per_second: 0 });
  if (!fingerprint) throw new Error("the container has not said where it is");
  return { url: `${fingerprint}/v1`, model: "pace" };
}

const TOKEN = '"content":" token"';

/** @throws when it is not all that was asked for. */
export async function readChat({ url, model, token }: Source, asked: Asked): Promise<Read> {
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
  if (first === undefined || tokens !== asked.max_tokens || !all.includes("data: [DONE]")) {
    throw new Error(`${tokens} of ${asked.max_tokens} tokens came: ${all.slice(-500)}`);
  }
  return { first, fingerprint: /"system_fingerprint":"([^"]+)"/.exec(all)?.[1] };
}
