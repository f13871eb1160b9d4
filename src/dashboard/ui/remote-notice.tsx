import type { VersionRow } from "../../storage/models/versions.ts";

/** Says that inputs are sent to another host; nothing for a version that runs here. */
export function RemoteNotice({
  version,
}: {
  version: Pick<VersionRow, "configuration"> | null | undefined;
}) {
  const { remote } = version?.configuration ?? {};
  if (!remote) return null;
  return (
    <p class="warning-note">
      <strong>Runs at {new URL(remote.url).host}.</strong> Inputs of this version, files included,
      are sent there. <a href="/docs/remote-versions">About remote versions</a>
    </p>
  );
}
