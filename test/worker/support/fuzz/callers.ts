/** Callers of requests: without a token, with all kinds of tokens, and the operator. */
import fc from "fast-check";
import type { Security } from "../../../../src/openapi/types.ts";
import { answerAll, newOpenAi } from "../openai.ts";
import { newClient, newWorld, operator as operatorClient } from "../world.ts";

/** The caller of a request. Messages show its name in place of the token. */
export interface Caller {
  name: string;
  authorization: string | undefined;
}

const bearer = (name: string, token: string | undefined): Caller => ({
  name,
  authorization: `Bearer ${token}`,
});

export interface Callers {
  /** The user may do everything that users may, and has most of what exists. */
  user: Caller;
  /** The stranger may do as much, with things of their own. */
  stranger: Caller;
  operator: Caller;
  /** Callers who lack a scope, or have a token of another kind, for one model only, or a bad one, or none. */
  others: Caller[];
  /** A model of another account that answers every kind of call. */
  callable: string;
  stop(): Promise<void>;
}

export async function newCallers(): Promise<Callers> {
  const [world, other, called] = await Promise.all([
    newWorld({ visibility: "public" }),
    newWorld({ visibility: "private" }),
    newOpenAi({ visibility: "public" }),
  ]);
  const over = new AbortController();
  const answering = answerAll(called.fleet, over.signal);
  await world.runner();
  // Three runners are stopped, because an operator can remove only those.
  for (let n = 0; n < 3; n++) await (await world.runner()).tell({ state: "stopped" });
  const scoped = (...scopes: string[]) => newClient(world.username, { scopes });
  return {
    callable: called.model,
    async stop() {
      over.abort();
      await answering;
    },
    user: bearer("user", world.client.token),
    stranger: bearer("stranger", other.client.token),
    operator: bearer("operator", operatorClient.token),
    others: [
      { name: "nobody", authorization: undefined },
      bearer("reader", (await scoped("read")).token),
      bearer("writer", (await scoped("write")).token),
      bearer("caller", (await scoped("predict")).token),
      bearer("limited", (await newClient(world.username, { models: [world.model] })).token),
      bearer("runner", world.runnerToken),
      bearer("guesser", `aus_${"0".repeat(49)}`),
      ...["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer a b", "Bearer ~", "\t"].map(
        (authorization) => ({ name: JSON.stringify(authorization), authorization }),
      ),
    ],
  };
}

/** Returns mostly callers with permission, so that most requests get beyond authentication. */
export function callerOf(callers: Callers, security: Security | undefined): fc.Arbitrary<Caller> {
  const isOperators = security?.some((way) => "operatorToken" in way);
  const wanted = isOperators ? callers.operator : callers.user;
  const other = fc.constantFrom(
    callers.user,
    callers.stranger,
    callers.operator,
    ...callers.others,
  );
  return fc.oneof({ weight: 5, arbitrary: fc.constant(wanted) }, { weight: 1, arbitrary: other });
}

export const tokensOf = ({ user, stranger, operator, others }: Callers): string[] =>
  [user, stranger, operator, ...others]
    .map(({ authorization = "" }) => authorization.replace("Bearer ", ""))
    .filter((token) => token.length > 20);
