/** The last lines that the container and the model logged; client/parts/log-view.ts continues them. */
import { type LogLevel, levelOf } from "../../domain/predictions/log-level.ts";
import type { LogLine } from "../../domain/predictions/log-tail.ts";
import { plainText, type Segment, segmentsOf } from "../../domain/predictions/log-text.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { logNote } from "./log-note.ts";

interface ReadLine extends Pick<LogLine, "at"> {
  segments: Segment[];
  level: LogLevel | undefined;
}

export function Logs({ view }: { view: PredictionView }) {
  const { logs, live, prediction } = view;
  const { hidden, torn } = logs.state;
  const last = logs.lines.at(-1)?.text ?? "";
  return (
    <details class="prediction-logs" open={live || prediction.status === "failed"}>
      <summary class="strong">Logs</summary>
      <DownloadLog path={`/predictions/${prediction.id}/logs.txt`} id={prediction.id} />
      <p class="hint" data-logs-hidden hidden={hidden === 0 && !torn}>
        {logNote(hidden, torn)}
      </p>
      <pre
        tabindex={0}
        data-logs
        data-hidden={hidden}
        data-torn={torn ? "true" : undefined}
        data-last={live ? last : undefined}
      >
        {readLines(logs.lines).map((one) => (
          <Line {...one} />
        ))}
      </pre>
    </details>
  );
}

export const DownloadLog = ({ path, id }: { path: string; id: string }) => (
  <p class="bar small log-tools">
    <a class="push" href={path} download={`${id}.log.txt`}>
      Download the log
    </a>
  </p>
);

function readLines(lines: LogLine[]): ReadLine[] {
  let level: LogLevel | undefined;
  // A log that ends with the end of a line has no line after it.
  const end = plainText(lines.at(-1)?.text ?? "") === "" ? -1 : undefined;
  return lines.slice(0, end).map(({ text, at }) => {
    level = levelOf(plainText(text), level);
    return { segments: segmentsOf(text), at, level };
  });
}

/** The markup is the same as in client/parts/log-view.ts. */
export const Line = ({ segments, at, level }: ReadLine) => (
  <span class="line" data-level={level}>
    {at !== null && <LogTime at={at} />}
    <span>
      {segments.map(({ text, style }) => (style === "" ? text : <b class={style}>{text}</b>))}
    </span>
  </span>
);

/** The time in UTC, which client code converts. */
function LogTime({ at }: { at: number }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} data-clock="" title={iso}>
      {iso.slice(11, 19)}
    </time>
  );
}
