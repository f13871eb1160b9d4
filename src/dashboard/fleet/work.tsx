/** The predictions that a runner has, and whose they are. */
import type { RunnerWork } from "../../protocol/fleet.ts";
import { Prediction } from "./runner.tsx";
import { sinceText } from "./status-text.ts";

/** A runner can have a thousand. */
const MAX_SHOWN = 50;

export const Work = ({
  work,
  own,
  now,
}: {
  work: RunnerWork[];
  own: ReadonlySet<string>;
  now: number;
}) => (
  <section aria-labelledby="work-title">
    <h2 id="work-title">Predictions</h2>
    {work.length === 0 ? (
      <p class="hint">It has none.</p>
    ) : (
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Prediction</th>
            <th scope="col">Account</th>
            <th scope="col">Version</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
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
              <td data-label="Since">{since === null ? "unknown" : sinceText(since, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
    {work.length > MAX_SHOWN && <p class="hint">And {work.length - MAX_SHOWN} more.</p>}
  </section>
);
