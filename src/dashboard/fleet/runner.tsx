/** One runner: how it is, how busy it is, what it runs, and what an operator may do with it. */
import {
  fetchCommand,
  packageName,
  type RunnerPackage,
} from "../../domain/runners/runner-version.ts";
import type { RunnerState } from "../../protocol/operator.ts";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";
import { gigabytes, machineText, percent, timeAgo } from "./status-text.ts";

export interface FleetContext {
  /** Scheme and host of this deployment. */
  origin: string;
  /** The runner that it serves. */
  latest: RunnerPackage;
  /** Of the predictions that are under way, those of whoever looks. */
  own: ReadonlySet<string>;
  now: number;
}

/** Parts (`data-part`) are what client/fleet.ts brings up to date by itself. */
export const Runner = ({ runner, view }: { runner: RunnerState; view: FleetContext }) => {
  const part = (name: string) => ({ "data-part": `${runner.id} ${name}` });
  return (
    <li class="runner" aria-labelledby={`runner-${runner.id}`}>
      <div class="runner-head" {...part("head")}>
        <h3 id={`runner-${runner.id}`}>{runner.name}</h3>
        <State runner={runner} />
        <Actions runner={runner} />
      </div>
      <p class="hint" {...part("facts")}>
        <RunnerDetails runner={runner} view={view} />
      </p>
      <div {...part("aside")}>
        {runner.set_aside_until !== null && (
          <p class="hint">
            This runner took jobs but did not connect for them, so it gets no work until{" "}
            <Time at={runner.set_aside_until} />. Check that it can reach this deployment over
            WebSocket.
          </p>
        )}
      </div>
      {runner.outdated && <Update runner={runner} view={view} />}
      {!isOffline(runner) && (
        <>
          <dl class="gauges" {...part("gauges")}>
            <Gauges runner={runner} />
          </dl>
          <dl class="runner-work" {...part("contents")}>
            <RunnerWork runner={runner} own={view.own} />
          </dl>
        </>
      )}
    </li>
  );
};

/** What it was last busy with is past. */
const isOffline = ({ state }: RunnerState) => state === "offline" || state === "stopped";

/**
 * A drain that has not reached the runner yet, or that it has been told to end, says so. One that is
 * set aside may say that it is ready: it gets no work all the same.
 */
const State = ({ runner: { state, draining, set_aside_until } }: { runner: RunnerState }) => (
  <>
    {set_aside_until !== null && <span class="status warning">set aside</span>}
    {(set_aside_until === null || state !== "ready") && (
      <span class={`status ${state}`}>{state}</span>
    )}
    {draining && state !== "draining" && <span class="status warning">drain requested</span>}
  </>
);

function Actions({ runner }: { runner: RunnerState }) {
  const { id, name, draining, set_aside_until } = runner;
  const gone = isOffline(runner);
  // One that is set aside may be either.
  const verbs: ("Resume" | "Drain")[] = [];
  if (draining || set_aside_until !== null) verbs.push("Resume");
  if (!draining && !gone) verbs.push("Drain");
  return (
    <div class="runner-actions">
      {verbs.map((verb) => (
        <Form action={`/fleet/runners/${id}/${verb.toLowerCase()}`}>
          <button type="submit" class="quiet" aria-label={`${verb} ${name}`}>
            {verb}
          </button>
        </Form>
      ))}
      {gone && (
        <Form
          action={`/fleet/runners/${id}/remove`}
          data-confirm={`Remove ${name}? If it comes back, it registers as a new runner.`}
        >
          <button type="submit" class="danger" aria-label={`Remove ${name}`}>
            Remove
          </button>
        </Form>
      )}
    </div>
  );
}

function RunnerDetails({ runner, view: { now } }: { runner: RunnerState; view: FleetContext }) {
  const { engine, version, machine, started_at, last_seen_at } = runner;
  const facts = [
    machine && machineText(machine),
    engine && `${engine} engine`,
    version && `version ${version}`,
  ].filter(Boolean);
  return (
    <>
      {facts.map((fact) => `${fact} · `)}
      {started_at !== null && !isOffline(runner) && (
        <>
          up since <Time at={started_at} /> ·{" "}
        </>
      )}
      {last_seen_at === null ? "never seen" : `seen ${timeAgo(now - Date.parse(last_seen_at))}`}
    </>
  );
}

const Update = ({ runner, view }: { runner: RunnerState; view: FleetContext }) => (
  <details class="update" data-key={`${runner.id} update`}>
    <summary>
      <span class="status warning">out of date</span> How to update
    </summary>
    <p class="hint">
      It runs version {runner.version}; this deployment serves {view.latest.version}. Drain and stop
      the runner, then install the new version and start it:
    </p>
    <Copy
      text={`${fetchCommand(view.origin, view.latest)} &&\n  npm install --global ./${packageName(view.latest)}`}
    />
    <p class="hint">If you started it with npx, run this instead of the last line:</p>
    <Copy text={`npx --yes ./${packageName(view.latest)}`} />
  </details>
);

function Gauges({ runner: { slots, running, load, machine } }: { runner: RunnerState }) {
  return (
    <>
      <Gauge
        name="Slots"
        value={running.length}
        max={Math.max(slots, 1)}
        text={`${running.length} of ${slots} busy`}
      />
      {load && machine && (
        <>
          <Gauge
            name="CPU"
            value={load.cpu}
            max={machine.cpus}
            text={`load ${load.cpu.toFixed(1)} of ${machine.cpus}`}
          />
          <Gauge
            name="Memory"
            value={load.memory_used_gb}
            max={machine.memory_gb}
            text={`${gigabytes(load.memory_used_gb)} of ${gigabytes(machine.memory_gb)} GB`}
          />
          {machine.gpus.map((gpu, n) => {
            const used = load.gpus?.[n];
            const name = machine.gpus.length > 1 ? `GPU ${n + 1}` : "GPU";
            if (!used) return <Gauge name={name} value={0} max={1} text="unknown" />;
            const memory = `${gigabytes(used.memory_used_gb)} of ${gigabytes(gpu.memory_gb)} GB`;
            return (
              <Gauge
                name={name}
                value={used.used}
                max={1}
                text={`${percent(used.used)}, ${memory}`}
              />
            );
          })}
        </>
      )}
    </>
  );
}

/** A machine may have more to do than it has cores. */
const Gauge = (gauge: { name: string; value: number; max: number; text: string }) => (
  <div>
    <dt>{gauge.name}</dt>
    <dd>
      <meter
        value={Math.min(gauge.value, gauge.max)}
        max={gauge.max}
        high={gauge.max * NEARLY_FULL}
        optimum={0}
        aria-label={gauge.name}
      />
      {gauge.text}
    </dd>
  </div>
);

/** From here on a gauge is no longer green. */
const NEARLY_FULL = 0.9;

/** Version 12 comes after version 3. */
const byNumber = new Intl.Collator("en", { numeric: true });

/** A runner may have a thousand of them. */
const MAX_LISTED = 8;

function RunnerWork({
  runner: { running, warm },
  own,
}: {
  runner: RunnerState;
  own: FleetContext["own"];
}) {
  const models = warm.toSorted(byNumber.compare);
  return (
    <>
      {running.length > 0 && (
        <div>
          <dt>Running</dt>
          <dd>
            {running.slice(0, MAX_LISTED).map((id, n) => (
              <>
                {n > 0 && ", "}
                <Prediction id={id} own={own.has(id)} />
              </>
            ))}
            {running.length > MAX_LISTED && ` and ${running.length - MAX_LISTED} more`}
          </dd>
        </div>
      )}
      {models.length > 0 && (
        <div>
          <dt>Warm</dt>
          <dd>
            {models.slice(0, MAX_LISTED).join(", ")}
            {models.length > MAX_LISTED && ` and ${models.length - MAX_LISTED} more`}
          </dd>
        </div>
      )}
    </>
  );
}

/** By what tells ids of one moment apart: their ends. */
const Prediction = ({ id, own }: { id: string; own: boolean }) => {
  const short = <code title={id}>…{id.slice(-8)}</code>;
  return own ? <a href={`/predictions/${id}`}>{short}</a> : short;
};
