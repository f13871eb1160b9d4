/** The GPUs of a runner, and which containers have them. */
import type { RunnerDetail } from "../../protocol/fleet.ts";
import { Table } from "../ui/table.tsx";
import { containerTitle } from "./containers.tsx";
import { type Day, GpuHistory } from "./history.tsx";
import { gigabytes, percent } from "./status-text.ts";

/** The most GPUs that are shown; a runner can report 256. */
const MAX_SHOWN = 64;

type Told = NonNullable<RunnerDetail["told"]>;

export function Devices({ told, load, day }: { told: Told; load: RunnerDetail["load"]; day: Day }) {
  const { devices, containers } = told;
  if (devices.length === 0) return null;
  const names = new Map(containers.map((one) => [one.name, containerTitle(one)]));
  // The load is in the order of the machine's GPUs: of another number, it is of other ones.
  const loads = load?.gpus?.length === devices.length ? load.gpus : [];
  return (
    <section aria-labelledby="gpus-title">
      <h2 id="gpus-title">GPUs</h2>
      {day?.some((step) => step?.gpus.length === devices.length) && (
        <p class="hint">The lines are of the last 24 hours.</p>
      )}
      <Table
        class="stacked devices"
        columns={[
          "GPU",
          "Container",
          { name: "In use", is: "number" },
          { name: "Memory", is: "number" },
        ]}
      >
        {devices.slice(0, MAX_SHOWN).map(({ name, memory_gb, lost, container }, n) => {
          const use = loads[n];
          const history = { day, n, gpus: devices.length };
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
                <GpuHistory
                  {...history}
                  value={({ used }) => used}
                  max={1}
                  name={`GPU ${n + 1} in use`}
                  unit="percent"
                />
              </td>
              <td class="number" data-label="Memory">
                {use
                  ? `${gigabytes(use.memory_used_gb)} of ${gigabytes(memory_gb)} GB`
                  : `${gigabytes(memory_gb)} GB`}
                <GpuHistory
                  {...history}
                  value={({ memory_used_gb }) => memory_used_gb}
                  max={memory_gb}
                  name={`Memory of GPU ${n + 1}`}
                  unit="gigabytes"
                />
              </td>
            </tr>
          );
        })}
      </Table>
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
