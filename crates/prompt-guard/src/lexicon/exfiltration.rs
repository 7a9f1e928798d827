//! Words of orders to send data or to call a tool, and words for the model.

use super::Class as C;

#[rustfmt::skip]
pub(super) const WORDS: &[(C, &[&str])] = &[
    (C::Send, &[
        "send", "upload", "forward", "transmit", "exfiltrate", "leak", "post them", "post it",
        "post the", "email them", "email it", "email the", "submit the",
        "отправь*", "отправляй*", "пришли*", "перешли*", "передай*", "загрузи*", "sende",
        "senden sie", "schicke", "ubermittle", "leite", "lade",
        "envoie", "envoyez", "transmets", "transfere", "publie", "televerse", "envia", "envie",
        "manda", "sube", "reenvia", "transmite",
        "发送", "上传", "转发", "泄露", "发到", "送信", "送って", "アップロード", "転送", "漏ら",
    ]),
    (C::Disclose, &[
        "reveal", "print", "output", "repeat", "show me", "disclose", "dump", "display", "paste",
        "recite", "tell me", "write out", "what are", "what is", "list",
        "выведи*", "покажи*", "раскрой*", "повтори*", "напечатай*", "назови*", "gib", "zeige",
        "verrate", "wiederhole", "nenne", "revele", "affiche", "repete", "montre", "revela",
        "muestra", "repite", "imprime",
        "输出", "打印", "显示", "重复", "告诉我", "表示し", "出力し", "繰り返", "教えて",
    ]),
    (C::SystemPrompt, &[
        "system prompt", "your instructions", "your initial instructions",
        "your original instructions", "your hidden", "your guidelines", "your system message",
        "системный промпт", "системные инструкции", "твои инструкции", "свои инструкции",
        "systemprompt", "deine anweisungen", "prompt systeme", "tes instructions",
        "prompt del sistema", "tus instrucciones", "系统提示", "你的指令", "システムプロンプト", "あなたの指示",
    ]),
    (C::Secret, &[
        "system prompt", "your instructions", "your initial instructions",
        "your original instructions", "your hidden", "api key", "api keys", "apikey", "secret key",
        "access token", "access tokens", "private key", "private keys", "ssh key", "ssh keys",
        "credentials", "password", "passwords", "environment variables", "env file", ".env",
        "dotenv", "secrets", "conversation history", "chat history", "this conversation",
        "the conversation", "session cookie", "cookies", "id_rsa", "idrsa", "database dump",
        "everything you know", "contents of your context", "your context", "all records",
        "all memories", "customer data", "tokens",
        "системный промпт", "системные инструкции", "свои инструкции", "ключ* api", "api-ключ*",
        "api ключ*", "парол*", "переменные окружения", "переменных окружения", "учетные данные",
        "токен*", "секрет*", "историю переписки", "историю разговора", "закрыт* ключ*",
        "systemprompt", "deine anweisungen", "api schlussel", "api-schlussel", "passwort*",
        "zugangsdaten", "umgebungsvariablen", "geheimnisse", "gesprachsverlauf",
        "privaten schlussel", "prompt systeme", "tes instructions", "cle api", "cles api",
        "mot de passe", "mots de passe", "identifiants", "variables d'environnement",
        "historique de", "cle privee", "secrets",
        "prompt del sistema", "tus instrucciones", "clave api", "claves api", "clave de api",
        "contrasena*", "credenciales", "variables de entorno", "secretos", "historial de",
        "clave privada",
        "系统提示", "你的指令", "密钥", "密码", "环境变量", "凭据", "凭证", "对话历史", "令牌", "私钥", "システムプロンプト", "あなたの指示",
        "キー", "パスワード", "環境変数", "認証情報", "会話履歴", "秘密鍵", "トークン",
    ]),
    (C::Url, &[
        "http:", "https:", "ftp:", "wss:", "mailto:", "webhook", "discord.gg", "telegram bot",
        "pastebin", "ngrok",
    ]),
    (C::Call, &[
        "call", "invoke", "use", "run", "execute", "trigger", "вызови*", "запусти*", "используй*",
        "rufe", "nutze", "verwende", "fuhre", "appelle", "appelez", "utilise", "utilisez", "lance",
        "llama", "invoca", "usa", "ejecuta", "utiliza", "调用", "使用", "运行", "呼び出", "使って", "実行", "使用し",
    ]),
    (C::Tool, &[
        "the tool", "tool", "the function", "function_call", "function call", "the save tool",
        "the shell tool", "your tools", "инструмент*", "das werkzeug", "werkzeug", "das tool",
        "l'outil", "outil", "la herramienta", "herramienta", "工具", "ツール",
    ]),
    (C::Arguments, &[
        "with", "with arguments", "with the arguments", "with parameters", "arguments",
        "parameters", "passing", "с аргумент*", "с параметр*", "с текстом", "аргумент*", "mit",
        "argumenten", "avec", "arguments", "con", "argumentos", "参数", "引数",
    ]),
    (C::Model, &[
        "ai", "assistant", "assistants", "llm", "llms", "language model", "model", "chatbot",
        "copilot", "coding agent", "agent", "agents", "claude", "chatgpt", "gpt", "gemini",
        "ассистент*", "модель", "нейросеть", "agent*", "assistent", "sprachmodell", "modele",
        "asistente", "modelo", "助手", "模型", "アシスタント", "モデル",
    ]),
];
