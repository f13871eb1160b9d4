/** An operation of the API with an example request, or a webhook. */
import { raw } from "hono/html";
import type { Child, PropsWithChildren } from "hono/jsx";
import { findSignature } from "../../../openapi/parameters.ts";
import {
  type Content,
  type Document,
  type DocumentedOperation,
  isBinary,
  type Operation as OperationObject,
  type Parameter,
  type ResponseObject,
  refName,
  resolveSchema,
  type Schemas,
} from "../../../openapi/types.ts";
import { ownHtml } from "../../ui/markdown.ts";
import { Coloured, Copy } from "../../ui/parts.tsx";
import { REFERENCE } from "../contents.ts";
import { curlOf, javascriptOf, pythonOf } from "./code.ts";
import { addressOf, requestOf, type SampleRequest } from "./request.ts";
import { About, Fields, Inline, Type } from "./schema.tsx";

interface Props {
  document: Document;
  one: DocumentedOperation;
}

export function Operation({ document, one }: Props) {
  const { path, method, operation } = one;
  const origin = new URL(document.servers?.[0]?.url ?? "").origin;
  const schemas = document.components?.schemas ?? {};
  const answers = operation.responses ?? {};
  return (
    <Article
      operation={operation}
      code={
        <>
          <Samples name={operation.operationId} request={requestOf(one, origin, schemas)} />
          <Examples answers={answers} />
        </>
      }
    >
      <p class="endpoint">
        <Method method={method} /> <code>{addressOf(path)}</code>
        <Access operation={operation} />
      </p>
      <Request operation={operation} schemas={schemas} />
      <h3>Responses</h3>
      <Responses answers={answers} schemas={schemas} />
    </Article>
  );
}

/** A webhook: what the service posts, and what it expects in return. */
export function WebhookOperation({
  operation,
  schemas,
}: {
  operation: OperationObject;
  schemas: Schemas;
}) {
  const { requestBody: body, responses = {} } = operation;
  const content = body && "content" in body ? body.content : {};
  return (
    <Article operation={operation} code={<Examples answers={{ Body: { content } }} />}>
      <p class="endpoint">
        <Method method="post" /> <code>your URL</code>
      </p>
      <Request operation={operation} schemas={schemas} />
      <h3>Your response</h3>
      <Responses answers={responses} schemas={schemas} />
    </Article>
  );
}

/** @param code what stands beside the text on wide screens, and below it on others */
const Article = ({
  operation: { operationId, summary },
  code,
  children,
}: PropsWithChildren<{ operation: OperationObject; code: Child }>) => (
  <article id={operationId} aria-labelledby={`${operationId}-title`}>
    <div>
      <h2 id={`${operationId}-title`}>
        <a href={`#${operationId}`}>{summary}</a>
      </h2>
      {children}
    </div>
    <div class="beside">{code}</div>
  </article>
);

function Request({ operation, schemas }: { operation: OperationObject; schemas: Schemas }) {
  const { description, requestBody, parameters = [] } = operation;
  const named = parameters.filter((part): part is Parameter => "name" in part);
  return (
    <>
      {description && raw(ownHtml(description))}
      {named.length > 0 && <Parameters parameters={named} />}
      {requestBody && "content" in requestBody && (
        <>
          <h3>Request body</h3>
          <Media content={requestBody.content} schemas={schemas} />
        </>
      )}
    </>
  );
}

export const Method = ({ method }: { method: string }) => (
  <span class={`method ${method}`}>{method.toUpperCase()}</span>
);

/** The credentials that the operation accepts. */
function Access({ operation }: { operation: OperationObject }) {
  const signature = findSignature(operation);
  if (signature) {
    const ways = signature.required ? "signed URL" : "signed URL or access token";
    return <span class="access">{ways}</span>;
  }
  const ways = operation.security ?? [{ accessToken: [] }];
  if (ways.some((way) => Object.keys(way).length === 0)) return <span class="access">public</span>;
  const operator = ways.some((way) => "operatorToken" in way);
  return <span class="access">{operator ? "access token of an operator" : "access token"}</span>;
}

const Parameters = ({ parameters }: { parameters: Parameter[] }) => (
  <>
    <h3>Parameters</h3>
    <ul class="ruled fields">
      {parameters.map(({ name, in: where, required, description, schema = {} }) => (
        <li>
          <code class="name">{name}</code>{" "}
          <span class="quiet small">
            <Type schema={schema} /> in {where}
            {!required && ", optional"}
          </span>
          <About schema={{ ...schema, description }} />
        </li>
      ))}
    </ul>
  </>
);

const Media = ({ content, schemas }: { content: Content; schemas: Schemas }) => (
  <>
    {Object.entries(content).map(([type, { schema = {} }]) => (
      <>
        <p class="hint">
          <code>{type}</code>{" "}
          {refName(schema) && (
            <>
              · <Type schema={schema} />
            </>
          )}
          {isBinary(schema) && "· raw bytes"}
        </p>
        <Fields schema={resolveSchema(schema, schemas)} />
      </>
    ))}
  </>
);

interface AnswersProps {
  answers: Record<string, ResponseObject>;
  schemas: Schemas;
}

function Responses({ answers, schemas }: AnswersProps) {
  const entries = Object.entries(answers);
  return (
    <>
      {entries
        .filter(([status]) => status < "400")
        .map(([status, answer]) => (
          <Success status={status} answer={answer} schemas={schemas} />
        ))}
      <Errors answers={entries.filter(([status]) => status >= "400")} />
    </>
  );
}

/** Errors on one line each, since all share a format. */
const Errors = ({ answers }: { answers: [status: string, ResponseObject][] }) =>
  answers.length > 0 && (
    <details class="answer">
      <summary>
        Errors <span class="status">{answers.map(([status]) => status).join(", ")}</span>
      </summary>
      <ul class="hint ruled">
        {answers.map(([status, { description }]) => (
          <li>
            <a class="status" href={`${REFERENCE}#errors`}>
              {status}
            </a>{" "}
            <Inline text={description} />
          </li>
        ))}
      </ul>
    </details>
  );

function Success({
  status,
  answer,
  schemas,
}: {
  status: string;
  answer: ResponseObject;
  schemas: Schemas;
}) {
  const { description, content, headers = {} } = answer;
  const own = Object.entries(headers).filter(([, header]) => !("$ref" in header));
  const title = (
    <>
      <span class="status">{status}</span> <Inline text={description} />
    </>
  );
  if (!content && own.length === 0) return <p class="answer">{title}</p>;
  return (
    <details class="answer">
      <summary>{title}</summary>
      {own.length > 0 && (
        <ul class="ruled fields">
          {own.map(([name, header]) => (
            <li>
              <code class="name">{name}</code> <span class="quiet small">header</span>
              <p>{header.description}</p>
            </li>
          ))}
        </ul>
      )}
      {content && <Media content={content} schemas={schemas} />}
    </details>
  );
}

const LANGUAGES = [
  ["curl", "curl", curlOf],
  ["python", "Python", pythonOf],
  ["js", "JavaScript", javascriptOf],
] as const;

/** Client code (client/docs.ts) chooses the same language everywhere, and remembers it. */
const Samples = ({ name, request }: { name: string | undefined; request: SampleRequest }) => (
  <div class="code-samples">
    <fieldset class="segments small" aria-label="Language" data-choice="language" data-languages>
      {LANGUAGES.map(([language, label]) => (
        <label>
          <input
            type="radio"
            name={`language-${name}`}
            value={language}
            checked={language === "curl"}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
    {LANGUAGES.map(([language, , sampleOf]) => (
      <div data-language={language}>
        <Copy lines language={language} text={sampleOf(request)} />
      </div>
    ))}
  </div>
);

/** The body of each success; the first is in sight. */
const Examples = ({ answers }: { answers: Record<string, Pick<ResponseObject, "content">> }) => (
  <>
    {Object.entries(answers)
      .filter(([status]) => !(status >= "400" && status < "600"))
      .flatMap(([status, { content = {} }]) =>
        Object.entries(content).flatMap(([type, { example }]) =>
          example === undefined ? [] : { title: `${status} ${type}`, example },
        ),
      )
      .map(({ title, example }, n) => (
        <details open={n === 0}>
          <summary class="small mono">{title}</summary>
          <pre tabindex={0}>
            <code>
              {typeof example === "string" ? (
                example
              ) : (
                <Coloured code={JSON.stringify(example, null, 2)} language="json" />
              )}
            </code>
          </pre>
        </details>
      ))}
  </>
);
