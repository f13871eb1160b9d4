/** The page of another user's prediction, found by its id: its course, without input and output. */

import { ProblemError } from "../../errors/errors.ts";
import { uuid } from "../../protocol/common.ts";
import type { Explanation } from "../../protocol/explanation.ts";
import type { OperatorPrediction, PredictionSearch } from "../../protocol/operator.ts";
import { ownerName } from "../../protocol/user.ts";
import { explainOfUser, lookUp, search } from "../../services/predictions/look-up.ts";
import { requireOperator } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { durationText } from "../ui/duration.ts";
import { Submit } from "../ui/fields.tsx";
import { Empty, Fact, Status, Time } from "../ui/parts.tsx";

/** @param username of its account, if that is known: the answer is there at once */
export const lookUpAddress = (id: string, username?: string) =>
  `/look-up?${new URLSearchParams({ id, ...(username !== undefined && { user: username }) })}`;

export interface Found {
  prediction: OperatorPrediction;
  username: string;
  explanation: Explanation;
}

export const LookUpPage = ({
  id,
  username,
  problem,
  found,
  searched,
}: {
  id: string;
  username: string;
  problem: string | undefined;
  found: Found | undefined;
  /** A step of a search without a username. */
  searched: PredictionSearch | undefined;
}) => (
  <>
    <h1>Look up a prediction</h1>
    <p>
      Find any user's prediction by ID. Inputs, outputs and logs stay private, but error messages
      may quote them. Look-ups are logged.
    </p>
    <search>
      <form method="get" action="/look-up" class="bar filter-bar">
        <input
          name="id"
          type="search"
          value={id}
          maxlength={36}
          required
          aria-label="Prediction ID"
          placeholder="Prediction ID"
          {...(problem !== undefined && {
            "aria-invalid": "true" as const,
            "aria-describedby": "id-error",
          })}
        />
        <input
          name="user"
          type="search"
          value={username}
          maxlength={63}
          aria-label="Username, if you know it"
          placeholder="Username, if you know it"
        />
        <Submit kind="quiet">Look up</Submit>
      </form>
    </search>
    {problem !== undefined && (
      <p class="field-error" id="id-error">
        {problem}
      </p>
    )}
    {found && <FoundPrediction found={found} />}
    {searched && !found && <NotFound id={id} searched={searched} />}
  </>
);

function FoundPrediction({ found: { prediction, username, explanation } }: { found: Found }) {
  const { id, status, model, created_at, updated_at, error, attempts, runner } = prediction;
  return (
    <section aria-labelledby="found-title">
      <h2 id="found-title">
        <code>{id}</code>
      </h2>
      {explanation.reason && <p>{explanation.reason.message}</p>}
      <dl class="figures facts">
        <Fact name="Status">
          <Status status={status} />
        </Fact>
        <Fact name="Account">
          <a href={`/users/${username}`}>{username}</a>
        </Fact>
        <Fact name="Model">{`${model.owner}/${model.name}, version ${model.version_number}`}</Fact>
        <Fact name="Created">
          <Time at={created_at} exact />
        </Fact>
        <Fact name="Last change">
          <Time at={updated_at} exact />
        </Fact>
        <Fact name="Setup">{durationText(prediction.setup_time)}</Fact>
        <Fact name="Execution">{durationText(prediction.execution_time)}</Fact>
        <Fact name="Attempts">{attempts ?? "unknown"}</Fact>
        <Fact name="Runner">{runner === null ? "none" : <code>{runner}</code>}</Fact>
      </dl>
      {error && (
        <p class="problem">
          <bdi>{error.message}</bdi>
        </p>
      )}
    </section>
  );
}

function NotFound({
  id,
  searched: { asked, unanswered, next_cursor },
}: {
  id: string;
  searched: PredictionSearch;
}) {
  const accounts = asked === 1 ? "1 account" : `${asked} accounts`;
  return (
    <Empty title={next_cursor === null ? "Prediction not found" : "Not found yet"}>
      <p>
        {`Searched ${accounts}.`}
        {next_cursor === null && " Recent predictions can take 10 minutes to appear."}
      </p>
      {unanswered.length > 0 && (
        <p>
          {"No response in time from: "}
          {unanswered.map((name, n) => (
            <>
              {n > 0 && ", "}
              <a href={lookUpAddress(id, name)}>{name}</a>
            </>
          ))}
        </p>
      )}
      {next_cursor !== null && (
        <p class="flow actions">
          <a
            class="button quiet"
            href={`${lookUpAddress(id)}&${new URLSearchParams({ cursor: next_cursor })}`}
          >
            Search more accounts
          </a>
        </p>
      )}
    </Empty>
  );
}

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
        text: "Enter a valid prediction ID.",
        status: 400,
      },
    };
  if (username === "") {
    const searched = await search(services, id, { url: c.req.url, cursor: c.req.query("cursor") });
    if (!searched.found) return { searched };
    const prediction = searched.found;
    const owner = ownerName(prediction.account);
    const explanation = await explainOfUser(services, owner, id, true);
    return { searched, found: { prediction, username: owner, explanation } };
  }
  try {
    const prediction = await lookUp(services, username, id, origin);
    const explanation = await explainOfUser(services, username, id, true);
    return { found: { prediction, username, explanation } };
  } catch (error) {
    if (error instanceof ProblemError && error.code === "not_found")
      return { problem: { text: error.message, status: 404 } };
    throw error;
  }
}

/** Logs of other programs write IDs without hyphens. */
const withHyphens = (id: string) =>
  /^[0-9a-f]{32}$/.test(id)
    ? id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
    : id;
