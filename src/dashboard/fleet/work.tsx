/** The predictions that a runner has, and whose they are. */
import type { RunnerWork } from "../../protocol/fleet.ts";
import { Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Prediction } from "./runner.tsx";
import { sinceText } from "./status-text.ts";

/** A runner can have a thousand. */
const MAX_SHOWN = 50;

const sinceTitle = (heard: boolean) => (heard ? "Since" : "Handed over");

export const Work = ({
  work,
  own,
  heard,
  now,
}: {
  work: RunnerWork[];
  own: ReadonlySet<string>;
  /** Whether the runner is; else it had them when it was. */
  heard: boolean;
  now: number;
}) => (
  <section aria-labelledby="work-title">
    <h2 id="work-title">Predictions</h2>
    {!heard && work.length > 0 && (
      <p class="hint">
        It had these when it was last heard from. They may be over, or run elsewhere: those that
        wait again are left out.
      </p>
    )}
    {work.length === 0 ? (
      <p class="hint">
        {heard ? "It has none." : "None is counted on it: what it had has ended, or waits again."}
      </p>
    ) : (
      <Table class="stacked" columns={["Prediction", "Account", "Version", sinceTitle(heard)]}>
        {work.slice(0, MAX_SHOWN).map(({ prediction_id, username, version, since }) => (
          <tr>
            <th scope="row">
              <Prediction
                id={prediction_id}
                own={own.has(prediction_id)}
                username={username ?? undefined}
              />
            </th>
            <td data-label="Account">
              {username === null ? "unknown" : <a href={`/users/${username}`}>{username}</a>}
            </td>
            <td data-label="Version">{version ?? "unknown"}</td>
            <td data-label={sinceTitle(heard)}>
              {since === null ? (
                "unknown"
              ) : heard ? (
                sinceText(since, now)
              ) : (
                <Time at={since} exact />
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
    {work.length > MAX_SHOWN && <p class="hint">And {work.length - MAX_SHOWN} more.</p>}
  </section>
);
