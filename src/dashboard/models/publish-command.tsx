/** Publishing a version from the command line, the short way. */
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { pushText } from "../publish/commands.ts";
import { Copy } from "../ui/parts.tsx";
import { modelAddress } from "./header.tsx";

export const PublishCommand = ({ model, origin }: { model: DetailedModelRow; origin: string }) => (
  <details class="publish-command">
    <summary>Publish from the command line</summary>
    <p>Builds, pushes and publishes, in the folder of the model:</p>
    <Copy text={`auspex publish --model ${model.owner.username}/${model.name}`} />
    <p>Or push an image, and make a version of it:</p>
    <Copy
      lines
      text={pushText({
        origin,
        username: model.owner.username,
        name: model.name,
        token: undefined,
        isFirst: !model.latest_version,
      })}
    />
    <p class="hint">
      <a href={modelAddress(model, "/publish")}>How to install and log in, with a token</a>. See the{" "}
      <a href="/docs#createVersion">API reference</a> for all fields. Without{" "}
      <code>configuration</code>, a version inherits the previous one’s.
    </p>
  </details>
);
