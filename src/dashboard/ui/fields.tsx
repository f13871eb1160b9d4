/** Form fields with a label, hint, submitted value and error. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { type Draft, fieldText, fieldTexts } from "../form.ts";

interface FieldProps {
  name: string;
  label: Child;
  /** Shown below the label. */
  hint?: Child;
  draft: Draft;
  required?: boolean;
}

interface TextProps extends FieldProps {
  value?: string;
  type?: "text" | "email" | "password" | "url" | "search" | "number" | "date";
  /** The id of a datalist. */
  list?: string;
  autocomplete?: string;
  placeholder?: string;
  minlength?: number;
  maxlength?: number;
  min?: string;
  max?: string;
  pattern?: string;
  /** Text that says what the pattern demands: browsers show it with their own words. */
  title?: string;
  autofocus?: boolean;
}

export function TextField({
  name,
  label,
  hint,
  draft,
  value = "",
  type = "text",
  ...rest
}: TextProps) {
  return (
    <Field name={name} label={label} hint={hint} draft={draft} required={rest.required}>
      <input
        {...controlAttributes(name, hint, draft)}
        type={type}
        value={type === "password" ? "" : submittedOr(draft, name, value)}
        {...rest}
      />
    </Field>
  );
}

interface AreaProps extends FieldProps {
  value?: string;
  rows?: number;
  maxlength?: number;
  placeholder?: string;
  class?: string;
}

export function TextArea({ name, label, hint, draft, value = "", rows = 4, ...rest }: AreaProps) {
  return (
    <Field name={name} label={label} hint={hint} draft={draft} required={rest.required}>
      <textarea {...controlAttributes(name, hint, draft)} rows={rows} {...rest}>
        {/* The HTML parser drops a leading line break. */}
        {`\n${submittedOr(draft, name, value)}`}
      </textarea>
    </Field>
  );
}

interface Option {
  value: string;
  label: string;
  hint?: string;
}

export function Select({
  name,
  label,
  hint,
  draft,
  value = "",
  required = false,
  options,
}: FieldProps & { value?: string; options: Option[] }) {
  const chosen = submittedOr(draft, name, value);
  return (
    <Field name={name} label={label} hint={hint} draft={draft} required={required}>
      <select {...controlAttributes(name, hint, draft)}>
        {options.map((option) => (
          <option value={option.value} selected={option.value === chosen}>
            {option.label}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Checkboxes, or radio buttons with `one`. */
export function Choices({
  name,
  label,
  hint,
  draft,
  values,
  options,
  one = false,
}: FieldProps & { values: string[]; options: Option[]; one?: boolean }) {
  const chosen = draft.values ? fieldTexts(draft.values, name) : values;
  return (
    <fieldset
      class="field choices"
      {...(draft.issues[name] && { "aria-describedby": `${name}-error` })}
    >
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {/* Sent also if no box is ticked: then that is said here, and not above the form. */}
      {!one && <input type="hidden" name={name} value="" />}
      {options.map((option) => (
        <label class="choice">
          <input
            type={one ? "radio" : "checkbox"}
            name={name}
            value={option.value}
            checked={chosen.includes(option.value)}
          />
          <span>
            {option.label}
            {option.hint && (
              <small>
                <bdi>{option.hint}</bdi>
              </small>
            )}
          </span>
        </label>
      ))}
      <FieldError name={name} draft={draft} />
    </fieldset>
  );
}

/** Label, hint and error around a control whose id is the field's name. */
export const Field = ({
  name,
  label,
  hint,
  draft,
  required = false,
  children,
}: PropsWithChildren<Omit<FieldProps, "required"> & { required?: boolean | undefined }>) => (
  <div class="field">
    <label for={name}>
      {label}
      {!required && <span class="optional"> optional</span>}
    </label>
    {hint && (
      <p class="hint" id={`${name}-hint`}>
        {hint}
      </p>
    )}
    {children}
    <FieldError name={name} draft={draft} />
  </div>
);

const FieldError = ({ name, draft }: { name: string; draft: Draft }) =>
  draft.issues[name] === undefined ? null : (
    <p class="field-error" id={`${name}-error`}>
      {draft.issues[name]}
    </p>
  );

/** The error of the form as a whole, or a pointer to those of its fields. */
export function Problem({ draft }: { draft: Draft }) {
  const marked = Object.keys(draft.issues).length > 0;
  const text = draft.problem ?? (marked ? "Check the highlighted fields." : undefined);
  return text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

export const Submit = ({
  children,
  kind = "primary",
}: PropsWithChildren<{ kind?: "primary" | "danger" | "quiet" }>) => (
  <button type="submit" class={kind}>
    {children}
  </button>
);

const submittedOr = (draft: Draft, name: string, value: string) =>
  draft.values?.has(name) ? fieldText(draft.values, name) : value;

/** The attributes that tie a control to its label, hint and error. */
export function controlAttributes(name: string, hint: Child | undefined, draft: Draft) {
  const issue = draft.issues[name] !== undefined;
  const parts = [hint && `${name}-hint`, issue && `${name}-error`].filter(Boolean);
  return {
    id: name,
    name,
    ...(parts.length > 0 && { "aria-describedby": parts.join(" ") }),
    ...(issue && { "aria-invalid": "true" as const }),
  };
}
