//! The service accepts every argument that the tools list: each is sent to the real service through
//! the real MCP server.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Map, Value, json};

use crate::harness::Service;

/// Arguments of which a call may have only one.
const NAMES_OF_A_DOCUMENT: [&str; 3] = ["id", "title", "url"];
const DIALOG: &str = "019a0000-0000-7000-8000-000000000001";
const DOCUMENT_URL: &str = "https://wiki.example.org/x/12";

#[tokio::test]
async fn every_listed_tool_argument_is_accepted() {
    let service = Service::embedded().await;
    let world = World::new(&service).await;
    let mut client = Client::start(service.command(&["mcp"]));
    let tools = client.request("tools/list", &json!({}));
    let tools = tools["tools"].as_array().unwrap();
    assert!(!tools.is_empty());
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        for mut arguments in world.calls(&tool["inputSchema"]) {
            if name == "forget" {
                arguments["id"] = world.forgotten.clone();
            }
            let call = json!({"name": name, "arguments": arguments});
            let result = client.request("tools/call", &call);
            assert_eq!(result["isError"], false, "{call}\n{}", result["content"]);
        }
    }
}

/// The entities that arguments can name.
struct World {
    document: Value,
    bundle: Value,
    kept: Value,
    replaced: Value,
    forgotten: Value,
}

impl World {
    async fn new(service: &Service) -> Self {
        service.project("shop").await;
        let document = json!({"doc_id": "12", "title": "Timing Rules", "url": DOCUMENT_URL,
            "content": "# Decision\n\nDelays carry their unit."});
        let documents = json!({"project_key": "shop", "source": "wiki", "documents": [document]});
        let documents = service.post("/ingest/docs", &documents).await;
        let dialog = json!({"project_key": "shop", "id": DIALOG,
            "messages": [{"role": "user", "content": "Why is the delay nil?"}]});
        service.post("/dialogs", &dialog).await;
        let recall = json!({"project_key": "shop", "query": "delay"});
        Self {
            document: documents["documents"][0]["id"].clone(),
            bundle: service.post("/recall", &recall).await["bundle_id"].clone(),
            kept: saved(service, "Money is kept in cents, never in floating point.").await,
            replaced: saved(service, "Invoices are numbered by the year and the shop.").await,
            forgotten: saved(service, "The warehouse counts its stock on the first of a month.")
                .await,
        }
    }

    /// Returns calls that together send every argument of the schemas.
    fn calls(&self, schema: &Value) -> Vec<Value> {
        let all = self.object(schema);
        let names: Vec<_> =
            NAMES_OF_A_DOCUMENT.into_iter().filter(|name| all.contains_key(*name)).collect();
        if names.len() < NAMES_OF_A_DOCUMENT.len() {
            return vec![Value::Object(all)];
        }
        let only = |name: &str| {
            let is_kept = |key: &str| key == name || !NAMES_OF_A_DOCUMENT.contains(&key);
            all.clone().into_iter().filter(|(key, _)| is_kept(key)).collect()
        };
        names.into_iter().map(only).collect()
    }

    fn object(&self, schema: &Value) -> Map<String, Value> {
        let properties = schema["properties"].as_object().unwrap();
        assert!(!properties.is_empty(), "{schema}");
        properties.iter().map(|(name, each)| (name.clone(), self.value(name, each))).collect()
    }

    /// Returns a valid value for an argument: by its name if the value must exist or have a form
    /// beyond the schema, else any value of the schema.
    fn value(&self, name: &str, schema: &Value) -> Value {
        let in_a_month = chrono::Utc::now() + chrono::TimeDelta::days(30);
        match name {
            "project_key" => json!("shop"),
            "bundle_id" => self.bundle.clone(),
            "used" | "record_ids" => json!([self.kept]),
            "supersedes" => self.replaced.clone(),
            "dialog_id" => json!(DIALOG),
            "id" => self.document.clone(),
            "title" => json!("Timing Rules"),
            "url" => json!(DOCUMENT_URL),
            "ttl" => json!(in_a_month.format("%Y-%m-%d").to_string()),
            "commit" => json!("abc123"),
            "content_hash" => json!("a1".repeat(32)),
            "line_start" | "line_end" => json!(1),
            "visibility" => json!("team"),
            "limit_tokens" => json!(400),
            "language" => json!("golang"),
            "section" => json!("Decision"),
            "quality" => json!({"novelty": 0.7, "dup": 0.1, "usefulness": 0.8}),
            "meta" => json!({"patch_sha": "abc123"}),
            "content" => {
                json!("A delay without its unit is nil, whatever the settings page shows.")
            }
            _ => self.of_schema(name, schema),
        }
    }

    fn of_schema(&self, name: &str, schema: &Value) -> Value {
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        assert!(schema.get("format").is_none(), "{name} needs a value of its own: {schema}");
        match schema["type"].as_str().unwrap() {
            "string" => json!("delay"),
            "boolean" => json!(true),
            "integer" => schema["minimum"].clone(),
            "array" => json!([self.of_schema(name, &schema["items"])]),
            "object" => Value::Object(self.object(schema)),
            other => panic!("{name} is of type {other}"),
        }
    }
}

async fn saved(service: &Service, content: &str) -> Value {
    let record = json!({"project_key": "shop", "kind": "rule", "content": content});
    let answer = service.post("/save", &record).await;
    assert_eq!(answer["outcome"], "created", "{answer}");
    answer["id"].clone()
}

/// An MCP client on the pipes of `memory-copilot mcp`, which ends with it.
pub struct Client {
    server: Child,
    input: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Client {
    pub fn start(mut command: Command) -> Self {
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server");
        let input = server.stdin.take();
        let answers = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut client = Self { server, input, answers, last: 0 };
        client.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"}}),
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Sends a request and returns its result.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let answer = self.answers.next().expect("an answer").unwrap();
            let mut answer: Value = serde_json::from_str(&answer).unwrap();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// Calls a tool and returns its result or error.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The end of its input stops the server.
        drop(self.input.take());
        let _ = self.server.wait();
    }
}
