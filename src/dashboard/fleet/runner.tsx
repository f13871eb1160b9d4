/** Parts of a runner that its pages and the fleet share: state, load and actions. */
import {
  fetchCommand,
  packageName,
  type RunnerPackage,
} from "../../domain/runners/runner-version.ts";
import { goneFor, isMissed, isOffline } from "../../domain/runners/silence.ts";
import { byteText } from "../../lib/text.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import { Form } from "../ui/layout.tsx";
import { Copy, Fact, Time } from "../ui/parts.tsx";
import { lookUpAddress } from "../users/look-up.tsx";
import { gigabytes, machineText, percent, shortTime, timeAgo } from "./status-text.ts";

export interface FleetContext {
  origin: string;
  latest: RunnerPackage;
  now: number;
}

export function SetAside({ runner }: { runner: RunnerState }) {
  const { set_aside_until, set_aside_reason, failed_starts } = runner;
  if (set_aside_until !== null && set_aside_reason !== null)
    return (
      <p class="hint">
        Paused until <Time at={set_aside_until} /> because containers fail to start:{" "}
        {set_aside_reason}. Predictions go to other runners or stay queued. Fix the machine, then
        select Resume.
      </p>
    );
  if (set_aside_until === null && failed_starts)
    return (
      <p class="hint">
        {failed_starts.times === 1
          ? "The last container start failed"
          : `The last ${failed_starts.times} container starts failed`}
        : {failed_starts.reason}. <Time at={failed_starts.at} />
      </p>
    );
  return set_aside_until === null ? null : (
    <p class="hint">
      Paused until <Time at={set_aside_until} /> because it accepted predictions but did not start
      them. Check that it can reach this deployment over WebSocket.
    </p>
  );
}

/** The rule of `isMissed`, for people. */
export const MISSED =
  "Offline runners are shown as an error after 2 minutes, or as soon as queued predictions need them.";

/**
 * Also shows a drain that the runner has not confirmed yet. A runner that is set aside may report
 * `ready`, which is hidden: it gets no work. So may one that is lost, until it has missed three reports.
 * @param wanted the hardware that predictions wait for
 * @param short without the time since when it is gone
 */
export function State({
  runner,
  wanted,
  now,
  short = false,
}: {
  runner: RunnerState;
  wanted: ReadonlySet<string>;
  now: number;
  short?: boolean;
}) {
  const { state, draining, revoked, set_aside_until } = runner;
  const gone = goneFor(runner, now);
  if (gone !== undefined)
    return (
      <span class={`status offline ${isMissed(runner, wanted, now) ? "bad" : ""}`} title={MISSED}>
        offline{short ? "" : ` for ${shortTime(gone)}`}
      </span>
    );
  return (
    <>
      {revoked && <span class="status warning">token revoked</span>}
      {set_aside_until !== null && <span class="status warning">paused</span>}
      {((set_aside_until === null && !revoked) || state !== "ready") && !(short && draining) && (
        <span class={`status ${state}`}>{state}</span>
      )}
      {draining && (short || state !== "draining") && (
        <span class="status draining">{short ? "draining" : "drain requested"}</span>
      )}
    </>
  );
}

export function Actions({ runner }: { runner: RunnerState }) {
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
          <button type="submit" class="quiet" aria-label={`${verb} ${name}`}>
            {verb}
          </button>
        </Form>
      ))}
      {offline && (
        <Form
          action={`/fleet/runners/${id}/remove`}
          data-confirm={`Remove ${name}? If it reconnects, it registers as a new runner.`}
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
      {last_seen_at === null
        ? "never seen"
        : `last seen ${timeAgo(now - Date.parse(last_seen_at))}`}
    </>
  );
}

export const Update = ({ runner, view }: { runner: RunnerState; view: FleetContext }) => (
  <details class="update" data-key={`${runner.id} update`}>
    <summary>
      <span class="status warning">out of date</span> How to update
    </summary>
    <p class="hint">
      Installed: {runner.version}. Available: {view.latest.version}. Drain and stop the runner, then
      install the new version and start it:
    </p>
    <Copy
      text={`${fetchCommand(view.origin, view.latest)} &&\n  npm install --global ./${packageName(view.latest)}`}
    />
    <p class="hint">If you use npx, replace the last line with:</p>
    <Copy text={`npx --yes ./${packageName(view.latest)}`} />
  </details>
);

export function Gauges({
  runner: { slots, running, load, machine, disk },
}: {
  runner: RunnerState;
}) {
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
      {disk && (
        <Gauge
          name="Disk"
          value={disk.total_bytes - disk.free_bytes}
          max={disk.total_bytes}
          text={`${byteText(disk.free_bytes)} of ${byteText(disk.total_bytes)} free`}
        />
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
