/** The examples of a model: inputs and outputs, with the actions of the owner. */
import type { PropsWithChildren } from "hono/jsx";
import { MAX_FILES } from "../../domain/models/example-content.ts";
import { exactText, unmarked } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { type Example, MAX_EXAMPLES } from "../../protocol/example.ts";
import { isCoverOf } from "../../services/models/example-pictures.ts";
import {
  changeExample,
  examplesOf,
  goneVersions,
  moveExampleUp,
  pinExample,
  unpinExample,
} from "../../services/models/examples.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash, type Viewer } from "../context.ts";
import { fieldText, readForm } from "../form.ts";
import { ExampleVersion, exampleOutputs } from "../playground/examples.tsx";
import { Embeddings, OutputValue } from "../prediction-view/output.tsx";
import { isUrlKind, type Output, outputOf } from "../prediction-view/output-kind.ts";
import { duration } from "../ui/duration.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { mayWrite, modelAddress, modelOf, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Empty } from "../ui/parts.tsx";

interface Props {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  examples: Example[];
  /** The numbers of versions that made some of them, and were deleted. */
  gone: Set<number>;
  /** Host of the page: files of other hosts are linked, not loaded. */
  host: string;
}

const Examples = (props: Props) =>
  props.examples.length === 0 ? (
    <NoExamples {...props} />
  ) : (
    <ol class="spaced">
      {props.examples.map((one, n) => (
        <li>
          <OneExample {...props} example={one} n={n} />
        </li>
      ))}
    </ol>
  );

const NoExamples = ({ model, viewer }: Pick<Props, "model" | "viewer">) => (
  <Empty title="No examples yet">
    {mayWrite(model, viewer) ? (
      <p>
        <a href={modelAddress(model)}>Run the model</a>, open the prediction, and select “Pin as an
        example”. Everyone who can view the model sees up to {MAX_EXAMPLES} examples.
      </p>
    ) : (
      <p>
        <a href={modelAddress(model)}>Run the model</a> to try it yourself.
      </p>
    )}
  </Empty>
);

function OneExample({
  model,
  viewer,
  host,
  gone,
  example,
  n,
}: Props & { example: Example; n: number }) {
  const { id, version_number: number, execution_time } = example;
  const outputs = exampleOutputs(example.output, host);
  const isCover = mayWrite(model, viewer) && isCoverOf(model, id);
  const at = modelAddress(model, `/examples/${id}`);
  const whole = modelAddress(model, `?example=${id}`);
  const links = { host, all: modelAddress(model, "/examples"), whole };
  return (
    <article class="panel below example" aria-labelledby={`example-${n}`}>
      <div class="bar spread title-row">
        <h2 id={`example-${n}`}>Example {n + 1}</h2>
        <p class="hint">
          <ExampleVersion model={model} number={number} isGone={gone.has(number)} />
          {execution_time !== null && ` · ${duration(Number(execution_time))}`}
          {isCover && " · Cover image"}
        </p>
      </div>
      <div class="split example-sides">
        <section aria-label={`Input of example ${n + 1}`}>
          <h3 class="quiet">Input</h3>
          <dl class="input">
            {Object.entries(example.input).map(([name, value]) => (
              <>
                <dt>{unmarked(name)}</dt>
                <dd>
                  <Values of={value} outputs={[outputOf(value, host)]} {...links} />
                </dd>
              </>
            ))}
          </dl>
        </section>
        <section aria-label={`Output of example ${n + 1}`}>
          <h3 class="quiet">Output</h3>
          <div class="outputs">
            <Values of={example.output} outputs={outputs} input={example.input} {...links} />
          </div>
        </section>
      </div>
      <div class="flow actions">
        <a class="button" href={whole}>
          Use these inputs
        </a>
        {mayWrite(model, viewer) && (
          <>
            {n > 0 && <Action action={`${at}/up`} name="Move up" of={n} />}
            {isCover && (
              <Action action={`${at}/cover`} name="Remove as cover" of={n}>
                <input type="hidden" name="is_cover" value="false" />
              </Action>
            )}
            {!isCover && outputs.some(({ kind }) => kind === "image") && (
              <Action action={`${at}/cover`} name="Use as cover image" of={n} />
            )}
            <Action action={`${at}/unpin`} name="Remove" of={n} confirm={GONE} />
          </>
        )}
      </div>
    </article>
  );
}

/** A dozen examples of the largest size would make a page of 2 MB, which visitors may load at any rate. */
const MAX_WHOLE = 6_000;
/** JSON that is cut is not read far. */
const MAX_JSON = 1_000;

interface Shown {
  of: Json;
  outputs: Output[];
  /** The input that `of` was made of, if `of` is an output. */
  input?: Json;
  host: string;
  all: string;
  /** Address of the page that shows all of it. */
  whole: string;
}

function Values({ of, outputs, input, host, all, whole }: Shown) {
  const [first] = outputs;
  // A text may have come in pieces.
  const text = first?.kind === "text" && outputs.length === 1 ? first.text : undefined;
  const json = text ?? exactText(of);
  const isFiles = outputs.length <= MAX_FILES && outputs.every(isUrlKind);
  if (json.length <= MAX_WHOLE || isFiles)
    return (
      <>
        {outputs.map((output) => (
          <OutputValue output={output} host={host} all={all} />
        ))}
      </>
    );
  if (first?.kind === "embeddings") return <Embeddings vectors={first.vectors} input={input} />;
  return (
    <>
      <div class="output-item text">
        {`${json.slice(0, text === undefined ? MAX_JSON : MAX_WHOLE)}…`}
      </div>
      <p>
        <a href={whole}>View in the playground</a>
      </p>
    </>
  );
}

const GONE = "Remove this example? Its copies of the input, output, and files are deleted.";

const Action = ({
  action,
  name,
  of,
  confirm,
  children,
}: PropsWithChildren<{
  action: string;
  name: string;
  of: number;
  confirm?: string;
}>) => (
  <Form action={action} {...(confirm && { "data-confirm": confirm })}>
    {children}
    <button type="submit" class="quiet">
      {name}
      <span class="visually-hidden">: example {of + 1}</span>
    </button>
  </Form>
);

/** Part of the page of a prediction that has succeeded, of a model whose examples the viewer may change. */
export const PinExample = ({ model, id }: { model: string; id: string }) => (
  <>
    <h2>Example</h2>
    <p class="hint">
      Shows the input, output, and files on the model’s page. They are copied, so they stay when
      this prediction is deleted. Secrets and logs are not copied.
    </p>
    <Form action={`/models/${model}/examples`}>
      <input type="hidden" name="prediction_id" value={id} />
      <Submit kind="quiet">Pin as an example</Submit>
    </Form>
  </>
);

const ALL = "/models/:owner/:name/examples";

type Change = typeof unpinExample;

const changing = (change: Change, done: string) => async (c: PageContext) => {
  const { owner = "", name = "", example = "" } = c.req.param();
  await change(c.var.services, viewerOf(c).caller, [owner, name], example);
  return redirectWithFlash(c, done, `/models/${owner}/${name}/examples`);
};

export const examplePages = pages()
  .get(ALL, async (c) => {
    const { services, viewer, origin } = c.var;
    const model = await modelOf(c);
    const content = async () => {
      const examples = await examplesOf(services, model.id, origin);
      const gone = await goneVersions(services, model.id, examples);
      return <Examples {...{ model, viewer, examples, gone, host: new URL(origin).host }} />;
    };
    const title = `Examples of ${referenceOf(model)}`;
    return renderModel(c, { model, page: "/examples", title }, content());
  })
  .post(ALL, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { owner, name } = c.req.param();
    const id = fieldText(await readForm(c), "prediction_id");
    await pinExample(services, viewerOf(c).caller, [owner, name], id, origin);
    return redirectWithFlash(c, "Pinned as an example.", `/models/${owner}/${name}/examples`);
  })
  .post(`${ALL}/:example/unpin`, requireUser, changing(unpinExample, "Example removed."))
  .post(`${ALL}/:example/up`, requireUser, changing(moveExampleUp, "Example moved up."))
  .post(`${ALL}/:example/cover`, requireUser, async (c) => {
    const is_cover = fieldText(await readForm(c), "is_cover") !== "false";
    const change: Change = async (services, caller, place, id) => {
      await changeExample(services, caller, { place, id }, { is_cover });
    };
    return changing(change, is_cover ? COVER : NO_COVER)(c);
  });

const COVER = "Cover image set.";
const NO_COVER = "Cover image removed.";
