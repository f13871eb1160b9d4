/** Facts in a model's header: whether it starts at once, duration and price of a run, number of runs. */
import type { Child } from "hono/jsx";
import type { RunEstimate } from "../../domain/models/run-estimate.ts";
import type { Configuration } from "../../protocol/model.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { duration } from "../prediction-view/duration.ts";
import { Price } from "../ui/price.tsx";
import { shortEgressText } from "./egress.ts";
import { isolationText } from "./isolation.ts";

interface Props {
  model: DetailedModelRow;
  runEstimate: RunEstimate;
  /** Configuration of the version that would run. */
  configuration: Configuration;
}

export function Facts({ model, runEstimate, configuration }: Props) {
  const { run_seconds, run_price } = runEstimate;
  const runs = model.predictions_count;
  return (
    <dl class="figures facts">
      <Readiness runEstimate={runEstimate} />
      {run_seconds !== null && <Fact name="A run takes">about {duration(run_seconds)}</Fact>}
      {run_price !== null && (
        <Fact name="A run costs">
          {run_price === 0 ? (
            "nothing"
          ) : (
            <>
              about <Price value={run_price} />
            </>
          )}
        </Fact>
      )}
      <Fact name="Runs so far" title="The latest may take up to two minutes to be counted">
        {runs.toLocaleString("en")}
      </Fact>
      <Fact name="Container sharing">{isolationText(configuration)}</Fact>
      <Fact name="Network access">{shortEgressText(configuration)}</Fact>
    </dl>
  );
}

function Readiness({ runEstimate: { state, setup_seconds } }: { runEstimate: RunEstimate }) {
  if (state === "unknown") return null;
  if (state === "warm")
    return (
      <Fact name="Now">
        <span class="status succeeded">Warm</span> starts at once
      </Fact>
    );
  if (state === "busy")
    return (
      <Fact name="Now">
        <span class="status started">Busy</span> the next run waits for room
      </Fact>
    );
  if (state === "away")
    return (
      <Fact name="Now">
        <span class="status offline">Away</span> a run waits until a runner takes work
      </Fact>
    );
  return (
    <Fact name="Now">
      <span class="status cold">Cold</span>{" "}
      {setup_seconds === null
        ? "the next run starts a container"
        : `starts in about ${duration(setup_seconds)}`}
    </Fact>
  );
}

const Fact = ({ name, title, children }: { name: string; title?: string; children?: Child }) => (
  <div title={title}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
