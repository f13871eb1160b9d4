/** The page of another user's prediction, found by its id: its course, without input and output. */
import type { Explanation } from "../../protocol/explanation.ts";
import type { OperatorPrediction, PredictionSearch } from "../../protocol/operator.ts";
import { duration } from "../prediction-view/duration.ts";
import { Empty, Status, Time } from "../ui/parts.tsx";
import { Fact } from "./fact.tsx";

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
  /** The error in the ID. */
  problem: string | undefined;
  found: Found | undefined;
  /** A step of a search without a username. */
  searched: PredictionSearch | undefined;
}) => (
  <>
    <h1>Look up a prediction</h1>
    <p>
      Of any account, by its ID. You see what happened to it, but not its input, output or logs; the
      message of an error may quote them. Each look-up is logged.
    </p>
    <search>
      <form method="get" action="/look-up" class="bar filter-bar">
        <input
          name="id"
          type="search"
          value={id}
          maxlength={36}
          required
          aria-label="ID of the prediction"
          placeholder="ID of the prediction"
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
        <button type="submit" class="quiet">
          Look up
        </button>
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

const seconds = (text: string | null) => (text === null ? "–" : duration(Number(text)));

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
        <Fact name="Setup">{seconds(prediction.setup_time)}</Fact>
        <Fact name="Execution">{seconds(prediction.execution_time)}</Fact>
        <Fact name="Attempts">{attempts ?? "not known any more"}</Fact>
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
    <Empty title={next_cursor === null ? "No account has it" : "Not found yet"}>
      <p>
        {`${accounts} asked, of those that were active since it was made.`}
        {next_cursor === null && " A prediction of the last 10 minutes may not be found yet."}
      </p>
      {unanswered.length > 0 && (
        <p>
          {"These did not answer in time: "}
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
            Ask more accounts
          </a>
        </p>
      )}
    </Empty>
  );
}
