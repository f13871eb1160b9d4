/** The conversation that a request names, and the check that its caller may use it. */
import { objectIdOf, SMALL_BYTES } from "../../domain/openai/conversation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import type { Large, Member, Refused } from "../../objects/conversation/rpc-types.ts";
import { type ConversationStub, conversationWithId } from "../../objects/conversation/stub.ts";
import { requireAccess } from "../accounts/access.ts";
import type { Caller } from "../accounts/caller.ts";
import { readWhole } from "../predictions/whole-reads.ts";
import type { Services } from "../services.ts";

/** A conversation that a request names. Each call of its object checks that it is the caller's. */
export interface NamedConversation {
  id: string;
  stub: ConversationStub;
  member: Member;
}

/** @throws OpenAiProblem not_found for what is no id of a conversation */
export function nameConversation(
  { env }: Services,
  { user_id, models }: Caller,
  id: string,
): NamedConversation {
  const objectId = objectIdOf(id);
  const stub = objectId === undefined ? undefined : conversationWithId(env, objectId);
  if (!stub) throw notFound(id);
  return { id, stub, member: { user_id, models } };
}

/** Returns the answer of a conversation's object. @throws OpenAiProblem not_found, ProblemError forbidden */
export async function granted<Answer>(
  services: Services,
  caller: Caller,
  id: string,
  answer: Answer,
): Promise<Exclude<Answer, Refused>> {
  if (isGranted(answer)) return answer;
  if (isRefused(answer) && answer.refused !== "hidden")
    await requireAccess(services, caller, answer.refused, `The conversation '${id}'`);
  throw notFound(id);
}

/**
 * Reads the items of a conversation and uses them while they are in memory. Large ones are read in turn, as
 * whole predictions are: a request of a few bytes may ask for 10 MB, which are in memory several times while
 * they are parsed.
 * @param read returns `large` for items of more bytes
 */
export async function readItems<Answer, Result>(
  { user_id }: Caller,
  read: (maxBytes: number) => Promise<Answer | Large>,
  use: (answer: Answer) => Result,
): Promise<Result> {
  const answer = await read(SMALL_BYTES);
  if (!isLarge(answer)) return use(answer);
  return readWhole(user_id, async () => {
    const whole = await read(Number.MAX_SAFE_INTEGER);
    if (isLarge(whole)) throw new Error("there is no more that could be asked for");
    return use(whole);
  });
}

const isLarge = (answer: unknown): answer is Large => answer === "large";

const isRefused = (answer: unknown): answer is Refused =>
  typeof answer === "object" && answer !== null && "refused" in answer;

const isGranted = <Answer>(answer: Answer): answer is Exclude<Answer, Refused> =>
  !isRefused(answer);

function notFound(id: string): OpenAiProblem {
  const message = `Conversation with id '${id.slice(0, 100)}' not found.`;
  return new OpenAiProblem(404, {
    message,
    param: "conversation",
    code: "conversation_not_found",
  });
}
