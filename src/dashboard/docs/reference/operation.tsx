/** An operation of the API with an example request, or a webhook. */
import { raw } from "hono/html";
import type { PropsWithChildren } from "hono/jsx";
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
import { Copy } from "../../ui/parts.tsx";
import { Table } from "../../ui/table.tsx";
import { curlOf, javascriptOf, pythonOf } from "./code.ts";
import { requestOf, type SampleRequest } from "./request.ts";
import { Fields, Inline, limitsOf, Type } from "./schema.tsx";

interface Props {
  document: Document;
  one: DocumentedOperation;
}

export function Operation({ document, one }: Props) {
  const { path, method, operation } = one;
  const base = document.servers?.[0]?.url ?? "";
  const schemas = document.components?.schemas ?? {};
  return (
    <Article operation={operation}>
      <p class="endpoint">
        <Method method={method} /> <code>{path}</code>
        <Access operation={operation} />
      </p>
      <Request operation={operation} schemas={schemas} />
      <h4>Example request</h4>
      <Samples name={operation.operationId} request={requestOf(one, base, schemas)} />
      <h4>Responses</h4>
      <Responses answers={operation.responses ?? {}} schemas={schemas} />
    </Article>
  );
}

/** A webhook: what the service posts, and what it expects in return. */
export const WebhookOperation = ({
  operation,
  schemas,
}: {
  operation: OperationObject;
  schemas: Schemas;
}) => (
  <Article operation={operation}>
    <p class="endpoint">
      <Method method="post" /> <code>your URL</code>
    </p>
    <Request operation={operation} schemas={schemas} />
    <h4>Your response</h4>
    <Responses answers={operation.responses ?? {}} schemas={schemas} />
  </Article>
);

const Article = ({
  operation: { operationId, summary },
  children,
}: PropsWithChildren<{ operation: OperationObject }>) => (
  <article id={operationId} aria-labelledby={`${operationId}-title`}>
    <h3 id={`${operationId}-title`}>
      <a href={`#${operationId}`}>{summary}</a>
    </h3>
    {children}
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
          <h4>Request body</h4>
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
  return <span class="access">{operator ? "operator token" : "access token"}</span>;
}

const Parameters = ({ parameters }: { parameters: Parameter[] }) => (
  <>
    <h4>Parameters</h4>
    <Table class="stacked parameters" columns={["Name", "Type", "Description"]}>
      {parameters.map(({ name, in: where, required, description, schema = {} }) => (
        <tr>
          <th scope="row">
            <code>{name}</code>
            <small>
              {where}
              {!required && <span class="optional"> optional</span>}
            </small>
          </th>
          <td>
            <Type schema={schema} />
            <small>
              <Inline text={limitsOf(schema).join(", ")} />
            </small>
          </td>
          <td>{description && <Inline text={description} />}</td>
        </tr>
      ))}
    </Table>
  </>
);

/** A body: fields and an example. */
const Media = ({ content, schemas }: { content: Content; schemas: Schemas }) => (
  <>
    {Object.entries(content).map(([type, { schema = {}, example }]) => (
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
        {example !== undefined && (
          <details>
            <summary>Example</summary>
            <pre>
              <code>
                {typeof example === "string" ? example : JSON.stringify(example, null, 2)}
              </code>
            </pre>
          </details>
        )}
      </>
    ))}
  </>
);

interface AnswersProps {
  answers: Record<string, ResponseObject>;
  schemas: Schemas;
}

/** Successes in full; errors on one line each, since all share a format. */
function Responses({ answers, schemas }: AnswersProps) {
  const entries = Object.entries(answers);
  return (
    <>
      {entries
        .filter(([status]) => status < "400")
        .map(([status, answer]) => (
          <Success status={status} answer={answer} schemas={schemas} />
        ))}
      <ul class="hint errors">
        {entries
          .filter(([status]) => status >= "400")
          .map(([status, { description }]) => (
            <li>
              <a class="status" href="#errors">
                {status}
              </a>{" "}
              {description}
            </li>
          ))}
      </ul>
    </>
  );
}

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
        <Copy lines text={sampleOf(request)} />
      </div>
    ))}
  </div>
);
