/** What needs an operator, on top of the fleet page. */
import type { FleetAlert } from "../../domain/runners/alerts.ts";

const MAX_SHOWN = 10;

export const Alerts = ({ alerts }: { alerts: FleetAlert[] }) =>
  alerts.length === 0 ? null : (
    <section class="alerts" aria-labelledby="alerts-title">
      <h2 id="alerts-title">Needs attention</h2>
      <ul>
        {alerts.slice(0, MAX_SHOWN).map(({ level, about, name, text }) => (
          <li>
            <span class={`status ${level === "bad" ? "failed" : "warning"}`}>
              {level === "bad" ? "problem" : "warning"}
            </span>
            <span>
              {about && (
                <>
                  <a href={addressOf(about)}>
                    <bdi>{name}</bdi>
                  </a>
                  :{" "}
                </>
              )}
              {text}
            </span>
          </li>
        ))}
        {alerts.length > MAX_SHOWN && <li>And {alerts.length - MAX_SHOWN} more.</li>}
      </ul>
    </section>
  );

const addressOf = (about: NonNullable<FleetAlert["about"]>) =>
  "runner" in about ? `/fleet/runners/${about.runner}` : `#class-${about.hardware}`;
