/**
 * What a container's server tells of itself, for a version that does not know yet what it can do. The
 * control plane makes sense of it (domain/images/server-description.ts).
 */
import { condensedOpenapi } from "../../../src/domain/images/openapi-document.ts";
import { MAX_DESCRIPTION, type ServerDescription } from "../../../src/protocol/runner.ts";
import type { ContainerClient } from "./container-client.ts";

/** Of each answer: the server is ready, and what it tells must not hold up the end of a run. */
const ANSWER_MS = 2_000;
/** The name of a model and some limits: llama.cpp's list has 1 KB, TEI's information as much. */
const MAX_SMALL = 32 * 1024;

/** Never rejects: what cannot be read is left out. */
export async function describeServer(client: ContainerClient): Promise<ServerDescription> {
  const [openapi, models, info] = await Promise.all([
    read(client, "/openapi.json"),
    read(client, "/v1/models"),
    read(client, "/info"),
  ]);
  return {
    ...bounded("openapi", openapi && condensedOpenapi(openapi), MAX_DESCRIPTION - 2 * MAX_SMALL),
    ...bounded("models", models, MAX_SMALL),
    ...bounded("info", info, MAX_SMALL),
  };
}

async function read(client: ContainerClient, path: string): Promise<string | undefined> {
  const call = { method: "GET", path, timeoutMs: ANSWER_MS } as const;
  const answer = await client.call(call).catch(() => undefined);
  return answer?.status === 200 ? answer.body : undefined;
}

const bounded = (name: keyof ServerDescription, text: string | undefined, max: number) =>
  text !== undefined && text.length <= max ? { [name]: text } : {};
