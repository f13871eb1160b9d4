/** `/look-up`, for operators: anybody's prediction, by its id. */

import { ProblemError } from "../../errors/errors.ts";
import { uuid } from "../../protocol/common.ts";
import type { PredictionSearch } from "../../protocol/operator.ts";
import { ownerName } from "../../protocol/user.ts";
import { explainOfUser, lookUp, search } from "../../services/predictions/look-up.ts";
import { requireOperator } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { type Found, LookUpPage } from "./look-up.tsx";

interface Answer {
  problem?: { text: string; status: 400 | 404 };
  found?: Found;
  searched?: PredictionSearch;
}

export const lookUpPages = pages().get("/look-up", requireOperator, async (c) => {
  const id = withHyphens(c.req.query("id")?.trim().toLowerCase() ?? "");
  const username = c.req.query("user")?.trim() ?? "";
  const { problem, found, searched } = id === "" ? {} : await answer(c, id, username);
  if (problem !== undefined) c.status(problem.status);
  const page = (
    <LookUpPage
      id={id}
      username={username}
      problem={problem?.text}
      found={found}
      searched={searched}
    />
  );
  return c.render(page, { title: "Look up a prediction" });
});

async function answer(c: PageContext, id: string, username: string): Promise<Answer> {
  const { services, origin } = c.var;
  if (!uuid.safeParse(id).success)
    return {
      problem: {
        text: "That is no ID of a prediction, such as 01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e.",
        status: 400,
      },
    };
  if (username === "") {
    const searched = await search(services, id, { url: c.req.url, cursor: c.req.query("cursor") });
    if (!searched.found) return { searched };
    const prediction = searched.found;
    const owner = ownerName(prediction.account);
    const explanation = await explainOfUser(services, owner, id);
    return { searched, found: { prediction, username: owner, explanation } };
  }
  try {
    const prediction = await lookUp(services, username, id, origin);
    const explanation = await explainOfUser(services, username, id);
    return { found: { prediction, username, explanation } };
  } catch (error) {
    if (error instanceof ProblemError && error.code === "not_found")
      return { problem: { text: error.message, status: 404 } };
    throw error;
  }
}

/** As logs of other programs have it: without them. */
const withHyphens = (id: string) =>
  /^[0-9a-f]{32}$/.test(id)
    ? id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
    : id;
