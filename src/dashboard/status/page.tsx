/** The status page: the same for everybody, without scripts and forms, so that other sites may show it in a frame. */
import { count } from "../../lib/text.ts";
import type { Manifest } from "../../protocol/assets.ts";
import type { Component, StatusReport } from "../../protocol/status.ts";
import { duration } from "../ui/duration.ts";
import { Head } from "../ui/head.tsx";
import { Bird } from "../ui/icon.tsx";
import { Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

const SUMMARY = {
  operational: ["succeeded", "No incidents"],
  degraded: ["warning", "An incident is in progress"],
  down: ["failed", "The control plane does not respond"],
} as const satisfies Record<StatusReport["status"], readonly string[]>;

const STATES = {
  operational: ["succeeded", "Operational"],
  busy: ["pending", "Busy"],
  degraded: ["warning", "Degraded"],
  no_runners: ["canceled", "No runners"],
  unavailable: ["failed", "Unavailable"],
  unknown: ["canceled", "Unknown"],
} as const satisfies Record<Component["state"], readonly string[]>;

interface Props {
  report: StatusReport;
  assets: Manifest;
}

export const StatusPage = ({ report, assets }: Props) => {
  const { status, checked_at, components, incidents } = report;
  const [icon, summary] = SUMMARY[status];
  const names = new Map(components.map(({ id, name }) => [id, name]));
  return (
    <html lang="en">
      <head>
        <Head title="Status" assets={assets} style="style.css" />
      </head>
      <body class="shared">
        <header class="shared-top">
          <a class="brand" href="/" target="_top">
            <Bird assets={assets} />
            Auspex
          </a>
        </header>
        <main id="main" tabindex={-1}>
          <h1>Status</h1>
          <p class="flush">
            <span class={`status ${icon}`}>{summary}</span>
          </p>
          <p class="hint flush">
            Checked <Time at={checked_at} />.
          </p>
          <ul class="ruled components">
            {components.map((component) => (
              <Part component={component} />
            ))}
          </ul>
          <section aria-labelledby="incidents-title">
            <h2 id="incidents-title">Incidents</h2>
            {incidents.length === 0 ? (
              <p class="hint">None in the last 90 days.</p>
            ) : (
              <Incidents incidents={incidents} names={names} />
            )}
          </section>
        </main>
      </body>
    </html>
  );
};

/** Sizes in SVG units. The drawing is stretched to fit. */
const STEP = 10;
const BAR = 8;
const HEIGHT = 20;

const Part = ({ component: { name, state, days } }: { component: Component }) => {
  const [icon, word] = STATES[state];
  const affected = days.filter((seconds) => seconds > 0);
  const total = affected.reduce((sum, seconds) => sum + seconds, 0);
  const text =
    affected.length === 0
      ? "Last 90 days: no incidents."
      : `Last 90 days: incidents on ${count(affected.length, "day")}, ${duration(total)} in all.`;
  const width = days.length * STEP;
  return (
    <li>
      <div class="bar spread">
        <strong>{name}</strong> <span class={`status ${icon}`}>{word}</span>
      </div>
      <svg
        class="days"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={text}
      >
        {/* One line for all days: a day with an incident is a higher bar on it. */}
        <line
          x1="0"
          x2={width}
          y1={HEIGHT * 0.75}
          y2={HEIGHT * 0.75}
          stroke-width={HEIGHT / 2}
          stroke-dasharray={`${BAR} ${STEP - BAR}`}
        />
        {days.map(
          (seconds, n) =>
            seconds > 0 && (
              <rect x={n * STEP} y="0" width={BAR} height={HEIGHT}>
                <title>{`${dayText(days.length - 1 - n)}: ${duration(seconds)}`}</title>
              </rect>
            ),
        )}
      </svg>
      <p class="hint flush">{text}</p>
    </li>
  );
};

const dayText = (ago: number): string => {
  if (ago === 0) return "Today";
  return ago === 1 ? "Yesterday" : `${ago} days ago`;
};

const Incidents = ({
  incidents,
  names,
}: Pick<StatusReport, "incidents"> & { names: ReadonlyMap<string, string> }) => (
  <Table
    class="stacked"
    aria-labelledby="incidents-title"
    columns={["Incident", "Affects", "Began", { name: "Lasted", is: "number" }]}
  >
    {incidents.map(({ component, title, began_at, ended_at }) => (
      <tr>
        <th scope="row">{title}</th>
        <td data-label="Affects">{names.get(component) ?? component.replace(/^hardware\//, "")}</td>
        <td data-label="Began">
          <Time at={began_at} />
        </td>
        <td class="number" data-label="Lasted">
          {ended_at === null
            ? "In progress"
            : duration((Date.parse(ended_at) - Date.parse(began_at)) / 1_000)}
        </td>
      </tr>
    ))}
  </Table>
);
