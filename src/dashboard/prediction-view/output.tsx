/** Renders a value of an input or output by its kind. */
import { JsonTree } from "./json.tsx";
import { isUrlKind, type Output, outputOf } from "./output-kind.ts";
import { UrlOutput } from "./url-output.tsx";

interface Place {
  /** Host of the page: nothing is loaded from others. */
  host: string;
  /** URL of the full JSON. */
  all: string;
}

/** The same markup as in client/parts/output-view.ts. */
export function OutputValue({ output, host, all }: Place & { output: Output }) {
  if (isUrlKind(output)) return <UrlOutput output={output} />;
  switch (output.kind) {
    case "text":
      return <div class="output-item text">{output.text}</div>;
    case "list":
      return (
        <ul class="output-item list">
          {output.items.map((item) => (
            <li>
              <OutputValue output={outputOf(item, host)} host={host} all={all} />
            </li>
          ))}
        </ul>
      );
    case "json":
      return (
        <div class="output-item">
          <JsonTree value={output.value} host={host} all={all} />
        </div>
      );
  }
}
