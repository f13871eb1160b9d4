/** The last lines that the container and the model logged; client/parts/log-view.ts continues them. */
import {
  ANY_LINE,
  isAnyLine,
  isWanted,
  LOG_LEVELS,
  type LogLevel,
  type LogQuery,
  levelOf,
  withHits,
} from "../../domain/predictions/log-search.ts";
import type { LogLine } from "../../domain/predictions/log-tail.ts";
import { plainText, type Segment, segmentsOf } from "../../domain/predictions/log-text.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import type { PageContext } from "../context.ts";
import { foundNote, logNote } from "./log-note.ts";

interface ReadLine extends Pick<LogLine, "at"> {
  segments: Segment[];
  level: LogLevel | undefined;
  wanted: boolean;
}

export function Logs({ view, query = ANY_LINE }: { view: PredictionView; query?: LogQuery }) {
  const { logs, live, prediction } = view;
  const { hidden, torn } = logs.state;
  const last = logs.lines.at(-1)?.text ?? "";
  const lines = readLines(logs.lines, query);
  const found = lines.filter(({ wanted }) => wanted).length;
  const isAll = isAnyLine(query);
  return (
    <details
      id="logs"
      class="prediction-logs"
      open={live || prediction.status === "failed" || !isAll}
    >
      <summary>Logs</summary>
      <LogTools
        action={`/predictions/${prediction.id}#logs`}
        query={query}
        download={[`/predictions/${prediction.id}/logs.txt`, `${prediction.id}.log.txt`]}
      >
        {foundNote(found, lines.length, isAll)}
      </LogTools>
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
        {lines.map((one) => (
          <Line {...one} find={query.find} />
        ))}
      </pre>
    </details>
  );
}

const LEVEL_NAMES: Record<LogLevel, string> = {
  debug: "Debug and above",
  info: "Info and above",
  warning: "Warnings and errors",
  error: "Errors",
};

/** The server searches the lines if there is no client code. */
export const LogTools = ({
  action,
  query,
  download: [address, name],
  children,
}: {
  action: string;
  query: LogQuery;
  download: readonly [address: string, name: string];
  children: string;
}) => (
  <form method="get" action={action} class="bar log-tools" data-log-tools>
    <input
      type="search"
      name="find"
      value={query.find}
      maxlength={200}
      placeholder="Find in the log"
      aria-label="Find in the log"
      spellcheck={false}
      autocomplete="off"
    />
    <select name="level" aria-label="Level">
      <option value="">All levels</option>
      {LOG_LEVELS.map((level) => (
        <option value={level} selected={level === query.level}>
          {LEVEL_NAMES[level]}
        </option>
      ))}
    </select>
    <button type="submit" class="quiet" data-find>
      Find
    </button>
    <span class="hint" data-found aria-live="polite">
      {children}
    </span>
    <a href={address} download={name}>
      Download the log
    </a>
  </form>
);

function readLines(lines: LogLine[], query: LogQuery): ReadLine[] {
  let level: LogLevel | undefined;
  // A log that ends with the end of a line has no line after it.
  const end = plainText(lines.at(-1)?.text ?? "") === "" ? -1 : undefined;
  return lines.slice(0, end).map(({ text, at }) => {
    const plain = plainText(text);
    level = levelOf(plain, level);
    return { segments: segmentsOf(text), at, level, wanted: isWanted(plain, level, query) };
  });
}

/** The markup is the same as in client/parts/log-view.ts. */
export const Line = ({ segments, at, level, wanted, find }: ReadLine & { find: string }) => (
  <span class="line" data-level={level} hidden={!wanted}>
    {at !== null && <LogTime at={at} />}
    <span>
      {withHits(segments, find).map(({ text, style, hit }) => {
        const content = hit ? <mark>{text}</mark> : text;
        return style === "" ? content : <b class={style}>{content}</b>;
      })}
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

const MAX_FIND_CHARS = 200;

/** Unknown values are ignored: people edit addresses by hand. */
export function readLogQuery(c: PageContext): LogQuery {
  const { find = "", level } = c.req.query();
  const known = LOG_LEVELS.find((one) => one === level);
  return { find: find.slice(0, MAX_FIND_CHARS), level: known };
}
