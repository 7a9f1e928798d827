//! `memory-copilot sgr`: reasoning schemas.

use anyhow::{Context as _, Result};
use mc_contract::text::SchemaName;
use mc_sgr::SchemaSource;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::{OptionalProjectArg, ProjectArg, SgrCommand};
use crate::input;
use crate::output::{self, Format, joined, line, list, one_line, text, time};

pub async fn run(command: SgrCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        SgrCommand::List { project } => {
            format.print(&remote.get("/sgr", &query(&project)).await?, table);
        }
        SgrCommand::Show { schema, project, answer_schema } => {
            let path = format!("/sgr/{}", name(&schema)?.as_str());
            let found = remote.get(&path, &query(&project)).await?;
            if answer_schema {
                line(&output::json(&found["answer_schema"]));
            } else {
                format.print(&found, details);
            }
        }
        SgrCommand::Set { file, project } => {
            let source = input::text(&file)?;
            let parsed =
                SchemaSource::parse(&source).with_context(|| file.display().to_string())?;
            let path = path(&project, &parsed.name)?;
            format.print(&remote.put(&path, json!({ "source": source })).await?, |schema| {
                format!("{} is set.", text(schema, "schema"))
            });
        }
        SgrCommand::Delete { schema, project } => {
            remote.delete(&path(&project, &schema)?).await?;
            line("Deleted.");
        }
    }
    Ok(())
}

fn name(schema: &str) -> Result<SchemaName> {
    SchemaName::parse(schema).with_context(|| format!("the name {schema}"))
}

fn path(project: &ProjectArg, schema: &str) -> Result<String> {
    project.path(&format!("sgr/{}", name(schema)?.as_str()))
}

fn query(project: &OptionalProjectArg) -> Vec<(&'static str, &str)> {
    project.project.as_deref().map(|key| ("project_key", key)).into_iter().collect()
}

fn table(page: &Value) -> String {
    output::page_table(page, ["schema", "origin", "title", "set by", "set at"], |schema| {
        [
            text(schema, "schema").to_owned(),
            text(schema, "origin").to_owned(),
            one_line(schema, "title"),
            one_line(schema, "updated_by"),
            time(schema, "updated_at", 10),
        ]
    })
}

fn details(schema: &Value) -> String {
    let mut lines = vec![format!("{}  {}", text(schema, "schema"), one_line(schema, "title"))];
    lines.extend(Some(one_line(schema, "description")).filter(|text| !text.is_empty()));
    for (index, step) in list(schema, "steps").iter().enumerate() {
        let field = format!("{}, {}", text(step, "output"), text(step, "type"));
        lines.push(format!("\n{}. {} ({field})", index + 1, one_line(step, "name")));
        let sources = joined(step, "source");
        lines.extend((!sources.is_empty()).then(|| format!("   works on: {sources}")));
        let hints = list(step, "hints").iter().filter_map(Value::as_str);
        lines.extend(hints.map(|hint| format!("   - {hint}")));
    }
    lines.join("\n")
}
