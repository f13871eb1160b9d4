/** `/fleet/runners/:id/log`: the last lines of a runner's own log, which an operator has asked it for. */
import type { LogLevel } from "../../domain/predictions/log-level.ts";
import { isResponding } from "../../domain/runners/silence.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerLog } from "../../protocol/runner-log.ts";
import type { KnownLog } from "../../services/runners/runner-history.ts";
import { DownloadLog, Line } from "../prediction-view/logs.tsx";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Time } from "../ui/parts.tsx";
import { State } from "./runner.tsx";

interface LogPageProps extends KnownLog {
  /** The hardware that predictions wait for. */
  wanted: ReadonlySet<string>;
  now: number;
}

/** client/fleet.ts keeps it up to date, and asks a runner that was away once it is back. */
export const LogPage = ({ runner, log, wanted, now }: LogPageProps) => {
  const heard = isResponding(runner, now);
  return (
    <div data-fleet class="runner-page">
      <Above
        places={[
          ["/fleet", "Fleet"],
          [`/fleet/runners/${runner.id}`, runner.name],
        ]}
      />
      <div data-part="log">
        <div class="bar runner-head" data-away={heard ? undefined : ""}>
          <h1>
            Log of <bdi>{runner.name}</bdi>
          </h1>
          <State runner={runner} wanted={wanted} now={now} />
          <div class="flow push runner-actions">
            {heard && !log?.waiting && (
              <AskForLog id={runner.id}>
                {log?.sent_at == null && log?.asked_at == null ? "Show log" : "Refresh"}
              </AskForLog>
            )}
          </div>
        </div>
        <p class="hint" role="status">
          {!heard ? (
            <Away runner={runner} />
          ) : log ? (
            <Progress runner={runner} log={log} />
          ) : (
            <NoAnswer runner={runner} />
          )}
        </p>
      </div>
      <div data-part="lines" data-empty={log?.sent_at == null ? "" : undefined}>
        {log && <Lines id={runner.id} log={log} />}
      </div>
    </div>
  );
};

export const AskForLog = ({ id, children }: { id: string; children: string }) => (
  <Form action={`/fleet/runners/${id}/log`}>
    <Submit kind="quiet">{children}</Submit>
  </Form>
);

export const LogSection = ({ runner, heard }: { runner: RunnerState; heard: boolean }) => (
  <section aria-labelledby="log-title">
    <h2 id="log-title">Log</h2>
    {heard ? (
      <>
        <p class="hint">The runner’s own log, without the output of models.</p>
        <AskForLog id={runner.id}>Show log</AskForLog>
      </>
    ) : (
      <p class="hint">{awayText(runner)}</p>
    )}
  </section>
);

const awayText = (runner: RunnerState): string =>
  `Unavailable while the runner is ${runner.state === "stopped" ? "stopped" : "offline"}. Read the log on its machine.`;

const Away = ({ runner }: { runner: RunnerState }) => (
  <>
    {awayText(runner)} This page loads it when the runner is back.
    <noscript> Without JavaScript, reload the page then.</noscript>
  </>
);

const NoAnswer = ({ runner }: { runner: RunnerState }) => (
  <>The pool {runner.pool} did not respond. Reload the page.</>
);

function Progress({ runner, log }: { runner: RunnerState; log: RunnerLog }) {
  const { asked_at } = log;
  if (asked_at === null) return null;
  if (log.waiting)
    return (
      <>
        Requested <Time at={asked_at} exact />. This can take up to 30 seconds.
        {runner.outdated && " The runner is out of date and may not answer."}
        <noscript> Reload the page to see it.</noscript>
      </>
    );
  return (
    <>
      Requested <Time at={asked_at} exact />, but the runner has not answered. {whyNot(runner)}
    </>
  );
}

function whyNot(runner: RunnerState): string {
  if (runner.outdated)
    return `Version ${runner.version} may not support this. Update it, or read the log on its machine.`;
  return "Refresh, or read the log on its machine.";
}

const Unasked = () => (
  <p class="hint">Not loaded yet. Logs are requested from the runner and kept for 10 minutes.</p>
);

const countText = (lines: number): string => {
  if (lines === 0) return "No lines yet";
  return lines === 1 ? "Last line" : `Last ${lines} lines`;
};

const Taken = ({ log: { sent_at, lines } }: { log: RunnerLog }) => (
  <>
    {countText(lines.length)}, as of {sent_at !== null && <Time at={sent_at} exact />}. Lines that
    may contain user data are redacted. The log on the machine is complete.
  </>
);

function Lines({ id, log }: { id: string; log: RunnerLog }) {
  const { asked_at, sent_at, lines } = log;
  if (sent_at === null) return asked_at === null ? <Unasked /> : null;
  return (
    <>
      <p class="hint" role="status">
        <Taken log={log} />
      </p>
      <div class="prediction-logs">
        <DownloadLog path={`/fleet/runners/${id}/log.txt`} id={id} />
        <pre tabindex={0}>
          {lines.map(({ at, level, text }) => (
            <Line at={Date.parse(at)} segments={[{ text, style: "" }]} level={LEVELS[level]} />
          ))}
        </pre>
      </div>
    </>
  );
}

const LEVELS: Record<RunnerLog["lines"][number]["level"], LogLevel> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

/** Returns the log as a file, which says why it is empty. @param lines undefined: the pool did not answer */
export function logText(lines: RunnerLog["lines"] | undefined, page: string): string {
  if (!lines) return `The runner's pool did not respond. Try again: ${page}\n`;
  return lines.length === 0 ? noLines(page) : textOf(lines);
}

const noLines = (page: string) => `The log is not loaded. Request it at ${page}\n`;

const textOf = (lines: RunnerLog["lines"]): string =>
  lines.map(({ at, level, text }) => `${at} ${level.padEnd(5)} ${text}\n`).join("");
