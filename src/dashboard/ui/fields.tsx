/** Form fields with a label, hint, submitted value and error. */
import { type Child, createContext, type PropsWithChildren, useContext } from "hono/jsx";
import { type Draft, emptyDraft, fieldText, fieldTexts } from "../form.ts";

/** `Form` provides its fields with the draft that was sent. */
export const DraftContext = createContext<Draft>(emptyDraft);

interface FieldProps {
  name: string;
  label: Child;
  /** Shown below the label. */
  hint?: Child;
  required?: boolean;
  /** Whether the field may be hidden: browsers would enforce `required` even then. */
  mayHide?: boolean;
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
  value = "",
  type = "text",
  required,
  mayHide,
  ...rest
}: TextProps) {
  return (
    <Field name={name} label={label} hint={hint} required={required}>
      <input
        {...useControl(name, hint)}
        type={type}
        value={type === "password" ? "" : useSubmitted(name, value)}
        required={required && !mayHide}
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
  autocomplete?: "off";
  autocapitalize?: "off";
  autofocus?: boolean;
  spellcheck?: boolean;
  /** Whether the text that was sent is not shown again. */
  secret?: boolean;
}

export function TextArea({
  name,
  label,
  hint,
  value = "",
  rows = 4,
  required,
  mayHide,
  secret,
  ...rest
}: AreaProps) {
  return (
    <Field name={name} label={label} hint={hint} required={required}>
      <textarea {...useControl(name, hint)} rows={rows} required={required && !mayHide} {...rest}>
        {/* The HTML parser drops a leading line break. */}
        {`\n${secret ? "" : useSubmitted(name, value)}`}
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
  value = "",
  required = false,
  options,
}: FieldProps & { value?: string; options: Option[] }) {
  const chosen = useSubmitted(name, value);
  return (
    <Field name={name} label={label} hint={hint} required={required}>
      <select {...useControl(name, hint)}>
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
  values,
  options,
  one = false,
}: FieldProps & { values: string[]; options: Option[]; one?: boolean }) {
  const draft = useContext(DraftContext);
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
      <FieldError name={name} />
    </fieldset>
  );
}

/** Label, hint and error around a control whose id is the field's name. */
export const Field = ({
  name,
  label,
  hint,
  required = false,
  children,
}: PropsWithChildren<Omit<FieldProps, "required"> & { required?: boolean | undefined }>) => (
  <div class="field">
    <label for={name}>
      {label}
      {!required && <span class="quiet small optional"> optional</span>}
    </label>
    {hint && (
      <p class="hint" id={`${name}-hint`}>
        {hint}
      </p>
    )}
    {children}
    <FieldError name={name} />
  </div>
);

function FieldError({ name }: { name: string }) {
  const issue = useContext(DraftContext).issues[name];
  return issue === undefined ? null : (
    <p class="field-error" id={`${name}-error`}>
      {issue}
    </p>
  );
}

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
}: PropsWithChildren<{ kind?: "primary" | "danger" | "quiet" | "plain" }>) => (
  <button type="submit" class={kind}>
    {children}
  </button>
);

function useSubmitted(name: string, value: string): string {
  const { values } = useContext(DraftContext);
  return values?.has(name) ? fieldText(values, name) : value;
}

/** Returns the attributes that tie a control to its label, hint and error. */
export function useControl(name: string, hint: Child | undefined) {
  const issue = useContext(DraftContext).issues[name] !== undefined;
  const parts = [hint && `${name}-hint`, issue && `${name}-error`].filter(Boolean);
  return {
    id: name,
    name,
    ...(parts.length > 0 && { "aria-describedby": parts.join(" ") }),
    ...(issue && { "aria-invalid": "true" as const }),
  };
}
