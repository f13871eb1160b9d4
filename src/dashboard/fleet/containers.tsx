/** The containers of a runner: versions or images, ages and runs. */
import type { RunnerContainer, RunnerDetail } from "../../protocol/fleet.ts";
import { Table } from "../ui/table.tsx";
import { memoryText, sinceText } from "./status-text.ts";

/** The most containers that are shown; a runner can report 512. */
const MAX_SHOWN = 64;

const SIGNS = { starting: "started", ready: "ready", stopping: "draining" } as const;

/** `owner/name` of the models of those that are shown. */
export const modelsIn = (reported: RunnerDetail["reported"]): Set<string> =>
  new Set(
    reported?.containers.slice(0, MAX_SHOWN).flatMap(({ version }) => modelOf(version) ?? []),
  );

const modelOf = (version: string | null) => version?.split(":")[0];

/** Returns the version, or else the end of the image's name and the beginning of its digest. */
export function containerTitle({ version, image }: Pick<RunnerContainer, "version" | "image">) {
  if (version !== null) return version;
  const [repository = "", digest = ""] = image.split("@");
  return `${repository.split("/").slice(-2).join("/")}@${digest.slice(0, 19)}`;
}

interface Shown {
  /** `owner/name` of the models whose pages the viewer may open. */
  linked: ReadonlySet<string>;
  /** Whether the runner is online; otherwise the containers are those of its last report. */
  heard: boolean;
  /** Time until which the containers are known to be so. */
  now: number;
}

export const Containers = ({
  reported: { containers, max_containers },
  ...shown
}: {
  reported: NonNullable<RunnerDetail["reported"]>;
} & Shown) => (
  <section aria-labelledby="containers-title">
    <h2 id="containers-title">Containers</h2>
    {containers.length === 0 ? (
      <p class="hint">No containers. One starts with the first prediction of a model.</p>
    ) : (
      <Table
        class="stacked"
        columns={[
          "Version",
          "Phase",
          "Since",
          { name: usersTitle(shown.heard), is: "number" },
          { name: "GPUs", is: "number" },
          { name: "Memory", is: "number" },
        ]}
      >
        {containers.slice(0, MAX_SHOWN).map((one) => (
          <Container container={one} {...shown} />
        ))}
      </Table>
    )}
    {containers.length > MAX_SHOWN && (
      <p class="hint">
        And {containers.length - MAX_SHOWN} more. Limit: {max_containers}.
      </p>
    )}
  </section>
);

const usersTitle = (heard: boolean) => (heard ? "Running" : "Last running");

function Container({ container, linked, heard, now }: { container: RunnerContainer } & Shown) {
  const { image, version, hardware, phase, since, idle_since, running, max_concurrency, gpus } =
    container;
  const { waits_for_gpus, memory_bytes } = container;
  const model = modelOf(version);
  const title = containerTitle(container);
  return (
    <tr>
      <th scope="row" title={image.slice(image.indexOf("/") + 1)}>
        {model !== undefined && linked.has(model) ? (
          <a href={`/models/${model}`}>{title}</a>
        ) : (
          title
        )}{" "}
        <small>{version === null ? `image, ${hardware}` : hardware}</small>
      </th>
      <td data-label="Phase">
        {heard ? <span class={`status ${SIGNS[phase]}`}>{phase}</span> : phase}
        {waits_for_gpus > 0 && (
          <small>
            waiting for {waits_for_gpus === 1 ? "a GPU" : `${waits_for_gpus} GPUs`} to be released
          </small>
        )}
      </td>
      <td data-label="Since">
        {sinceText(since, now)}
        {idle_since !== null && phase === "ready" && (
          <small>idle {sinceText(idle_since, now)}</small>
        )}
      </td>
      <td class="number" data-label={usersTitle(heard)}>
        {running} of {max_concurrency}
      </td>
      <td class="number" data-label="GPUs">
        {gpus}
      </td>
      <td class="number" data-label="Memory">
        {memory_bytes === null ? "unknown" : memoryText(memory_bytes)}
      </td>
    </tr>
  );
}
