/** What a model has put out, and what it was given: each as what it is. */
import { JsonTree } from "./json.tsx";
import { isUrlKind, type Output, outputOf } from "./output-kind.ts";
import { UrlOutput } from "./url-output.tsx";

interface Place {
  /** Of the page: nothing is loaded from another. */
  host: string;
  /** Where all of it is, as JSON. */
  all: string;
}

/** As client/parts/output-view.ts makes it of what comes later. */
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
