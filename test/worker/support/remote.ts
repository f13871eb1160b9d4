/** Remote versions, whose host is the receiver of webhooks. */
import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Compatibilities, Remote } from "../../../src/protocol/model.ts";
import type { Answer, Behaviour } from "../../receiver/exchange.ts";
import { addressOf, exchanged, freshPath, received, release, script } from "./receiver.ts";
import { setVariable } from "./variables.ts";
import { newUser } from "./world.ts";

export const KEY = "sk-very-secret-0123456789";

interface RemoteOptions extends Partial<Remote> {
  timeout_seconds?: number;
  compatibilities?: Partial<Compatibilities>;
}

/** The paths below the base URL at which each API is called. */
const CALLED = {
  openai: "/chat/completions",
  anthropic: "/v1/messages",
  replicate: "/predictions",
};

/** A user with a model that a remote host runs. */
export async function newRemoteWorld({
  compatibilities,
  timeout_seconds = 1_800,
  ...options
}: RemoteOptions = {}) {
  const { username, user_id, client } = await newUser();
  const base = freshPath();
  const model = `${username}/far`;
  await client.ok("POST", "/v1/models", { name: "far", visibility: "public" });
  await setVariable(client, model, "REMOTE_KEY", KEY);
  const remote: Remote = {
    ...{ url: addressOf(base), api: "openai", model: "gpt-far", key_variable: "REMOTE_KEY" },
    ...options,
  };
  const configuration = { interface: "remote", remote, timeout_seconds };
  const version = { release_notes: "", configuration };
  await client.ok("POST", `/v1/models/${model}/versions`, {
    ...version,
    ...(compatibilities && { compatibilities }),
  });
  const path = `${base}${CALLED[remote.api]}`;
  return {
    ...{ username, user_id, client, model, base, path },
    /** Sets the answers of the host, one after the other. */
    answers: (...behaviours: Behaviour[]) => script(path, ...behaviours),
    /** Sends the last answer that is held. */
    release: () => release(path),
    /** Returns the requests that the host has got, once there are so many. */
    requests: (count = 1) => received(path, count),
    /** Returns them once each is over. */
    over: (count = 1) => exchanged(path, count),
    /** Creates a prediction that chats. @returns its ID */
    chat: async (input: object = {}) =>
      (
        await client.create({
          model,
          input: { messages: [{ role: "user", content: "Hi" }], ...input },
        })
      ).body.id,
  };
}

const SSE = { "content-type": "text/event-stream" };
const USAGE = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

const chunk = (content: string, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-far", choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more })}\n\n`;

/** A stream of texts, which ends. */
export const streamOf = (...texts: string[]): Answer => ({
  status: 200,
  headers: SSE,
  body: `${texts.map((text) => chunk(text)).join("")}${chunk("", { choices: [], usage: USAGE })}data: [DONE]\n\n`,
});

/** A stream that has begun and does not end. */
export const openStreamOf = (...texts: string[]): Answer => ({
  status: 200,
  headers: SSE,
  body: `: begun\n\n${texts.map((text) => chunk(text)).join("")}`,
  open: true,
});

export const jsonOf = (
  body: object,
  status = 200,
  headers: Record<string, string> = {},
): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

export const completion = (content: string) =>
  jsonOf({
    ...{ id: "c", object: "chat.completion", created: 1, model: "gpt-far", usage: USAGE },
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  });

/** Ends all remote objects that are at work, as a restart of their machine does. */
export async function killRemoteObjects(): Promise<number> {
  const ids = await listDurableObjectIds(env.REMOTE);
  for (const id of ids)
    await runInDurableObject(env.REMOTE.get(id), (_, ctx) => ctx.abort("killed")).catch(() => {});
  return ids.length;
}
