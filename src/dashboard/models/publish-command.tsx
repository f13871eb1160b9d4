/** Publishing a version from the command line. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { Copy } from "../ui/parts.tsx";
import { modelAddress } from "./header.tsx";

export const PublishCommand = ({
  model,
  origin,
  repository,
}: {
  model: DetailedModelRow;
  origin: string;
  repository: string;
}) => (
  <details class="publish-command">
    <summary>Publish from the command line</summary>
    <p>
      Push the image, then publish its digest. <code>AUSPEX_TOKEN</code> must hold an{" "}
      <a href="/tokens">access token</a> with the <code>write</code> scope:
    </p>
    <Copy
      lines
      text={`cog push ${repository}
digest=$(docker inspect --format '{{index .RepoDigests 0}}' ${repository} | cut -d @ -f 2)
curl ${origin}/v1${modelAddress(model, "/versions")} \\
  -H "Authorization: Bearer $AUSPEX_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d @- <<END
{
  "release_notes": "What is new",
  "container_image_digest": "$digest",
  "schemas": {"prediction": {"input": {"type": "object"}, "output": {}}}
}
END`}
    />
    <p class="hint">
      See the <a href="/docs#createVersion">API reference</a> for all fields. Without{" "}
      <code>configuration</code>, a version inherits the previous one’s.
    </p>
  </details>
);
