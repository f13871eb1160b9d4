/** A runner of the fleet page: state, load, work and actions. */
import {
  fetchCommand,
  packageName,
  type RunnerPackage,
} from "../../domain/runners/runner-version.ts";
import { isOffline, isResponding, silenceOf } from "../../domain/runners/silence.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import { longDuration } from "../ui/duration.ts";
import { Form } from "../ui/layout.tsx";
import { Copy, Fact, Time } from "../ui/parts.tsx";
import { lookUpAddress } from "../users/look-up.tsx";
import { gigabytes, machineText, percent, timeAgo } from "./status-text.ts";

export interface FleetContext {
  origin: string;
  latest: RunnerPackage;
  /** Ids of the viewer's own unfinished predictions, which can be linked. */
  own: ReadonlySet<string>;
  now: number;
}

/** client/fleet.ts updates each element with `data-part` on its own. */
export const Runner = ({
  runner,
  isShared,
  view,
}: {
  runner: RunnerState;
  isShared: boolean;
  view: FleetContext;
}) => {
  const part = (name: string) => ({ "data-part": `${runner.id} ${name}` });
  return (
    <li class="panel below runner" aria-labelledby={`runner-${runner.id}`}>
      <div class="bar runner-head" {...part("head")}>
        <h3 id={`runner-${runner.id}`}>
          <a href={`/fleet/runners/${runner.id}`}>
            <bdi>{runner.name}</bdi>
          </a>
        </h3>
        <State runner={runner} now={view.now} />
        <Actions runner={runner} />
      </div>
      <p class="hint" {...part("facts")}>
        {isShared && `serves ${runner.hardware.join(", ")} · `}
        <RunnerDetails runner={runner} view={view} />
      </p>
      <div {...part("aside")}>
        <SetAside runner={runner} />
      </div>
      {runner.outdated && <Update runner={runner} view={view} />}
      {isResponding(runner, view.now) && (
        <>
          <dl class="cards gauges" {...part("gauges")}>
            <Gauges runner={runner} />
          </dl>
          <dl class="figures runner-work" {...part("contents")}>
            <RunnerWork runner={runner} own={view.own} />
          </dl>
        </>
      )}
    </li>
  );
};

export function SetAside({ runner }: { runner: RunnerState }) {
  const { set_aside_until, set_aside_reason, failed_starts } = runner;
  if (set_aside_until !== null && set_aside_reason !== null)
    return (
      <p class="hint">
        Set aside until <Time at={set_aside_until} /> because its machine fails to start containers:{" "}
        {set_aside_reason}. Predictions go to other runners, or wait. Fix the machine, then select
        Resume.
      </p>
    );
  if (set_aside_until === null && failed_starts)
    return (
      <p class="hint">
        {failed_starts.times === 1
          ? "The last start of a container failed"
          : `The last ${failed_starts.times} starts of containers failed`}{" "}
        because of its machine: {failed_starts.reason}. <Time at={failed_starts.at} />
      </p>
    );
  return set_aside_until === null ? null : (
    <p class="hint">
      This runner took jobs but did not connect for them, so it gets no work until{" "}
      <Time at={set_aside_until} />. Check that it can reach this deployment over WebSocket.
    </p>
  );
}

/**
 * Also shows a drain that the runner has not confirmed yet. A runner that is set aside may report
 * `ready`, which is hidden: it gets no work. So may one that is lost, until it has missed three reports.
 */
export function State({ runner, now }: { runner: RunnerState; now: number }) {
  const { state, draining, set_aside_until } = runner;
  const silent = silenceOf(runner, now);
  return (
    <>
      {silent !== undefined && (
        <span class="status warning">
          not heard from for {longDuration(Math.floor(silent / 1_000))}
        </span>
      )}
      {set_aside_until !== null && <span class="status warning">set aside</span>}
      {((set_aside_until === null && silent === undefined) || state !== "ready") && (
        <span class={`status ${state}`}>{state}</span>
      )}
      {draining && state !== "draining" && <span class="status warning">drain requested</span>}
      {runner.revoked && <span class="status warning">token revoked</span>}
    </>
  );
}

export const OWN_PAGE = "runner";

/** @param onOwnPage whether the actions lead back to the runner's page */
export function Actions({
  runner,
  onOwnPage = false,
}: {
  runner: RunnerState;
  onOwnPage?: boolean;
}) {
  const { id, name, draining, set_aside_until } = runner;
  const offline = isOffline(runner);
  // A runner that is set aside can be resumed or drained.
  const verbs: ("Resume" | "Drain")[] = [];
  if (draining || set_aside_until !== null) verbs.push("Resume");
  if (!draining && !offline) verbs.push("Drain");
  return (
    <div class="flow push runner-actions">
      {verbs.map((verb) => (
        <Form action={`/fleet/runners/${id}/${verb.toLowerCase()}`}>
          {onOwnPage && <input type="hidden" name="from" value={OWN_PAGE} />}
          <button type="submit" class="quiet" aria-label={`${verb} ${name}`}>
            {verb}
          </button>
        </Form>
      ))}
      {offline && (
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

export function RunnerDetails({
  runner,
  view: { now },
}: {
  runner: RunnerState;
  view: FleetContext;
}) {
  const { engine, version, machine, started_at, last_seen_at } = runner;
  const facts = [
    machine && machineText(machine),
    engine && `${engine} engine`,
    version && `version ${version}`,
  ].filter(Boolean);
  return (
    <>
      {facts.map((fact) => (
        <>
          <bdi>{fact}</bdi> ·{" "}
        </>
      ))}
      {started_at !== null && !isOffline(runner) && (
        <>
          up since <Time at={started_at} /> ·{" "}
        </>
      )}
      {last_seen_at === null ? "never seen" : `seen ${timeAgo(now - Date.parse(last_seen_at))}`}
    </>
  );
}

export const Update = ({ runner, view }: { runner: RunnerState; view: FleetContext }) => (
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

export function Gauges({ runner: { slots, running, load, machine } }: { runner: RunnerState }) {
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

/** The load can exceed the number of cores. */
const Gauge = (gauge: { name: string; value: number; max: number; text: string }) => (
  <Fact name={gauge.name}>
    <meter
      value={Math.min(gauge.value, gauge.max)}
      max={gauge.max}
      high={gauge.max * NEARLY_FULL}
      optimum={0}
      aria-label={gauge.name}
    />
    {gauge.text}
  </Fact>
);

const NEARLY_FULL = 0.9;

/** Sorts version 12 after version 3. */
const byNumber = new Intl.Collator("en", { numeric: true });

/** A runner can have a thousand slots. */
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
        <Fact name="Running">
          {running.slice(0, MAX_LISTED).map((id, n) => (
            <>
              {n > 0 && ", "}
              <Prediction id={id} own={own.has(id)} />
            </>
          ))}
          {running.length > MAX_LISTED && ` and ${running.length - MAX_LISTED} more`}
        </Fact>
      )}
      {models.length > 0 && (
        <Fact name="Warm">
          {models.slice(0, MAX_LISTED).join(", ")}
          {models.length > MAX_LISTED && ` and ${models.length - MAX_LISTED} more`}
        </Fact>
      )}
    </>
  );
}

/**
 * The end of an id: UUIDv7 begins with the time, which neighbors share. What is of others has no page that
 * an operator may see, so it is looked up.
 */
export const Prediction = ({
  id,
  own,
  username,
}: {
  id: string;
  own: boolean;
  username?: string | undefined;
}) => (
  <a href={own ? `/predictions/${id}` : lookUpAddress(id, username)}>
    <code title={id}>…{id.slice(-8)}</code>
  </a>
);
