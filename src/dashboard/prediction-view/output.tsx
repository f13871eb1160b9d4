/** Renders a value of an input or output by its kind. */
import { MAX_TEXT_CHARS } from "../../domain/predictions/display-limits.ts";
import type { Json } from "../../protocol/common.ts";
import { Embeddings } from "./embeddings-view.tsx";
import { JsonTree } from "./json-tree.tsx";
import { isUrlKind, type Output, outputOf } from "./output-kind.ts";
import { UrlOutput } from "./url-output.tsx";

interface Place {
  /** Host of the page: nothing is loaded from others. */
  host: string;
  /** URL of the full JSON, where there is one. */
  all: string | undefined;
}

interface Props extends Place {
  output: Output;
  /** The input that the output was made of, where it is known. */
  input?: Json | undefined;
  grows?: boolean;
}

/** The markup is the same as in client/parts/output-view.ts. */
export function OutputValue({ output, input, host, all, grows = false }: Props) {
  if (isUrlKind(output)) return <UrlOutput output={output} />;
  switch (output.kind) {
    case "text":
      return <Text text={output.text} isWhole={grows} />;
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
    case "embeddings":
      return (
        <div class="output-item">
          <Embeddings vectors={output.vectors} input={input} />
          <details>
            <summary>All values</summary>
            <JsonTree value={output.value} host={host} all={all} />
          </details>
        </div>
      );
    case "json":
      return (
        <div class="output-item">
          <JsonTree value={output.value} host={host} all={all} />
        </div>
      );
  }
}

/** Text beyond MAX_TEXT_CHARS is folded, because a browser lays out long texts slowly. */
function Text({ text, isWhole }: { text: string; isWhole: boolean }) {
  const shown = isWhole ? text : text.slice(0, MAX_TEXT_CHARS).replace(HALF_PAIR, "");
  const rest = text.slice(shown.length);
  return (
    <>
      <div class="output-item text">{shown}</div>
      {rest !== "" && (
        <details class="output-rest">
          <summary>{`Show the next ${Math.ceil(rest.length / 1024)} KB`}</summary>
          <div class="output-item text">{rest}</div>
        </details>
      )}
    </>
  );
}

const HALF_PAIR = /[\uD800-\uDBFF]$/;
