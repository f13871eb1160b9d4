/** The versions of a model, newest first. */
import type { Page } from "../../services/pagination.ts";
import type { VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { ListedSchemas, VersionSummaryRow } from "../../storage/models/versions.ts";
import type { Viewer } from "../context.ts";
import { Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { ChangedNames, isComparable } from "./changes.tsx";
import { isOwner, ModelHeader, modelAddress } from "./header.tsx";
import { NoVersion } from "./no-version.tsx";

export const VersionsPage = ({
  model,
  viewer,
  estimate,
  versions,
  compared,
}: {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  estimate: VersionEstimate | undefined;
  versions: Page<VersionSummaryRow>;
  /** Schemas of the page's versions and of the one before them, newest first. */
  compared: ListedSchemas[];
}) => {
  const { latest_version: latest } = model;
  return (
    <>
      <ModelHeader model={model} viewer={viewer} page="/versions" estimate={estimate} />
      {latest ? (
        <>
          <div class="bar spread title-row">
            <h2>Versions</h2>
            {isOwner(model, viewer) && (
              <a class="button primary" href={modelAddress(model, "/versions/new")}>
                New version
              </a>
            )}
          </div>
          <div class="scroll">
            <Table
              class="stacked"
              columns={["Version", "Release notes", "Input and output", "Published"]}
            >
              {versions.items.map(({ number, release_notes, created_at, awaits }) => (
                <tr>
                  <th scope="row">
                    <a href={modelAddress(model, `/versions/${number}`)}>{number}</a>{" "}
                    {number === latest.number && <span class="badge">latest</span>}{" "}
                    {awaits && <span class="badge">waits for its first start</span>}
                  </th>
                  <td class="notes" dir="auto" data-label="Release notes">
                    {release_notes || "—"}
                  </td>
                  <td data-label="Input and output">
                    <ChangesOf number={number} compared={compared} />
                  </td>
                  <td data-label="Published">
                    <Time at={created_at} />
                  </td>
                </tr>
              ))}
            </Table>
          </div>
          <Pager previous={versions.previous_url} next={versions.next_url} />
        </>
      ) : (
        <NoVersion model={model} viewer={viewer} />
      )}
    </>
  );
};

function ChangesOf({ number, compared }: { number: number; compared: ListedSchemas[] }) {
  const at = compared.findIndex((one) => one.number === number);
  const [version, before] = at < 0 ? [] : compared.slice(at, at + 2);
  if (!version?.schemas || !before?.schemas) return <>—</>;
  if (!isComparable(version) || !isComparable(before)) return <>—</>;
  return <ChangedNames before={before.schemas} after={version.schemas} />;
}
