/** `/fleet/runners/:id/log`: the last lines of a runner's own log, which an operator has asked it for. */
import type { LogLevel } from "../../domain/predictions/log-level.ts";
import { isOffline, isResponding } from "../../domain/runners/silence.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import type { RunnerLog } from "../../protocol/runner-log.ts";
import type { KnownLog } from "../../services/runners/runner-history.ts";
import { DownloadLog, Line } from "../prediction-view/logs.tsx";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Time } from "../ui/parts.tsx";
import { State } from "./runner.tsx";

interface LogPageProps extends KnownLog {
  now: number;
}

/** client/fleet.ts keeps it up to date, and asks a runner that was away once it is back. */
export const LogPage = ({ runner, log, now }: LogPageProps) => {
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
          <State runner={runner} now={now} />
          <div class="flow push runner-actions">
            {heard && !log?.waiting && (
              <AskForLog id={runner.id}>
                {log?.sent_at == null && log?.asked_at == null ? "Show the log" : "Ask again"}
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
        <p class="hint">The last lines of the runner's own log, without what models print.</p>
        <AskForLog id={runner.id}>Show the log</AskForLog>
      </>
    ) : (
      <p class="hint">{awayText(runner)}</p>
    )}
  </section>
);

const awayText = (runner: RunnerState): string =>
  `The runner is ${isOffline(runner) ? "offline" : "not heard from"}, so it cannot be asked for its log. Read it on its machine.`;

const Away = ({ runner }: { runner: RunnerState }) => (
  <>
    {awayText(runner)} This page asks it again once it is back.
    <noscript> Without JavaScript, load the page again then.</noscript>
  </>
);

const NoAnswer = ({ runner }: { runner: RunnerState }) => (
  <>The pool {runner.pool} did not answer. Load the page again.</>
);

function Progress({ runner, log }: { runner: RunnerState; log: RunnerLog }) {
  const { asked_at } = log;
  if (asked_at === null) return null;
  if (log.waiting)
    return (
      <>
        Asked the runner at <Time at={asked_at} exact />. An idle runner answers at once, one that
        is full or drained within half a minute.
        {runner.outdated &&
          " It runs another version than this deployment’s, which may not answer."}
        <noscript> Load the page again to see it.</noscript>
      </>
    );
  return (
    <>
      Asked the runner at <Time at={asked_at} exact />, and it has not sent its log.{" "}
      {whyNot(runner)}
    </>
  );
}

function whyNot(runner: RunnerState): string {
  if (runner.outdated)
    return `Its version ${runner.version} may not know how to: update it, or read the log on its machine.`;
  return "Its connection may be broken. Ask again, or read the log on its machine.";
}

const Unasked = () => (
  <p class="hint">
    There is no log here at the moment. The runner sends it when it is asked, and it is kept for up
    to ten minutes.
  </p>
);

const countText = (lines: number): string => {
  if (lines === 0) return "The runner has logged nothing yet";
  return lines === 1 ? "The last line" : `The last ${lines} lines`;
};

const Taken = ({ log: { sent_at, lines } }: { log: RunnerLog }) => (
  <>
    {countText(lines.length)}, as of {sent_at !== null && <Time at={sent_at} exact />}. What may
    quote an input, an output or a container is left out: the log on the machine has it.
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
  if (!lines) return `The pool of this runner did not answer. Try again: ${page}\n`;
  return lines.length === 0 ? noLines(page) : textOf(lines);
}

const noLines = (page: string) =>
  `There are no lines of this runner's log here. It sends them when it is asked, and they are kept for up to ten minutes. Ask it again: ${page}\n`;

const textOf = (lines: RunnerLog["lines"]): string =>
  lines.map(({ at, level, text }) => `${at} ${level.padEnd(5)} ${text}\n`).join("");
