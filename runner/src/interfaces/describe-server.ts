/**
 * The description that a container's server gives of itself, for a version whose abilities are not known yet.
 * The control plane interprets it (domain/images/server-description.ts).
 */
import { condensedOpenapi } from "../../../src/domain/images/openapi-document.ts";
import { MAX_DESCRIPTION, type ServerDescription } from "../../../src/protocol/runner.ts";
import { Failure } from "../../../src/run/failure.ts";
import type { ContainerClient } from "./container-client.ts";

/**
 * The timeout of each answer. The server is asked during a run, and the first run in a container may end this
 * much later (containers/launch.ts); a later run asks again for a missing answer.
 */
const ANSWER_MS = 10_000;
/** Statuses of a server, or a proxy before it, that is busy or not ready for this yet. */
const BUSY = [408, 425, 429, 502, 503, 504];
/** The largest list of models or information: llama.cpp's list has 1 KB, TEI's information as much. */
const MAX_SMALL = 32 * 1024;

/**
 * Never rejects, and leaves out answers that cannot be read. Returns undefined while the answers that matter
 * are missing, since a version is completed once: from the document if there is one, else from the others.
 */
export async function describeServer(
  client: ContainerClient,
  answerMs = ANSWER_MS,
): Promise<ServerDescription | undefined> {
  const [openapi, models, info] = await Promise.all(
    (["/openapi.json", "/v1/models", "/info"] as const).map((path) => read(client, path, answerMs)),
  );
  if (!openapi) return undefined;
  const document = openapi.text && condensedOpenapi(openapi.text);
  if (!document && !(models && info)) return undefined;
  return {
    ...bounded("openapi", document, MAX_DESCRIPTION - 2 * MAX_SMALL),
    ...bounded("models", models?.text, MAX_SMALL),
    ...bounded("info", info?.text, MAX_SMALL),
  };
}

/** Returns an answer, with its text if the status is 200; undefined if a later run should ask again. */
async function read(
  client: ContainerClient,
  path: string,
  timeoutMs: number,
): Promise<{ text?: string } | undefined> {
  try {
    const { status, body } = await client.call({ method: "GET", path, timeoutMs });
    if (BUSY.includes(status)) return undefined;
    return status === 200 ? { text: body } : {};
  } catch (error) {
    // A response that is not HTTP, or too large, will not change.
    return error instanceof Failure ? {} : undefined;
  }
}

const bounded = (name: keyof ServerDescription, text: string | undefined, max: number) =>
  text !== undefined && text.length <= max ? { [name]: text } : {};
