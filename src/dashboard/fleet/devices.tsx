/** The GPUs of a runner, and which containers have them. */
import type { RunnerDetail } from "../../protocol/fleet.ts";
import { containerTitle } from "./containers.tsx";
import { gigabytes, percent } from "./status-text.ts";

/** A runner can tell of 256. */
const MAX_SHOWN = 64;

type Told = NonNullable<RunnerDetail["told"]>;

export function Devices({ told, load }: { told: Told; load: RunnerDetail["load"] }) {
  const { devices, containers } = told;
  if (devices.length === 0) return null;
  const names = new Map(containers.map((one) => [one.name, containerTitle(one)]));
  // The load is in the order of the machine's GPUs: of another number, it is of other ones.
  const loads = load?.gpus?.length === devices.length ? load.gpus : [];
  return (
    <section aria-labelledby="gpus-title">
      <h2 id="gpus-title">GPUs</h2>
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">GPU</th>
            <th scope="col">Container</th>
            <th scope="col" class="number">
              In use
            </th>
            <th scope="col" class="number">
              Memory
            </th>
          </tr>
        </thead>
        <tbody>
          {devices.slice(0, MAX_SHOWN).map(({ name, memory_gb, lost, container }, n) => {
            const use = loads[n];
            return (
              <tr>
                <th scope="row">
                  {n + 1}{" "}
                  <small>
                    <bdi>{name}</bdi>
                  </small>{" "}
                  {lost && <span class="status failed">lost</span>}
                </th>
                <td data-label="Container">
                  {container === null ? "free" : (names.get(container) ?? container)}
                </td>
                <td class="number" data-label="In use">
                  {use ? percent(use.used) : "unknown"}
                </td>
                <td class="number" data-label="Memory">
                  {use
                    ? `${gigabytes(use.memory_used_gb)} of ${gigabytes(memory_gb)} GB`
                    : `${gigabytes(memory_gb)} GB`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {devices.length > MAX_SHOWN && <p class="hint">And {devices.length - MAX_SHOWN} more.</p>}
      {devices.some(({ lost }) => lost) && (
        <p class="hint">
          A lost GPU is not listed by its driver any more, or has failed. Nothing is started on it.
          Look at <code>nvidia-smi</code> and <code>dmesg</code> on the machine, then restart the
          runner.
        </p>
      )}
    </section>
  );
}
